"""Checks files of deploy/ against published schemas; runs with the tools of scripts/test-deploy.

check_schemas.py compose FILE...        the Compose specification, its variables filled in
check_schemas.py crd DEFINITION FILE... what a Kubernetes resource definition says of its kind
"""

import os
import re
import sys
from pathlib import Path

import yaml
from compose_spec import ComposeSpecification  # type: ignore[import-not-found]  # a tool of test-deploy
from jsonschema import Draft202012Validator

_VARIABLE = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


def check_compose(file: str) -> None:
    """Fail unless Compose understands a file."""
    text = _VARIABLE.sub(lambda found: os.environ[found[1]], Path(file).read_text("utf-8"))
    parsed = ComposeSpecification.model_validate(yaml.safe_load(text))
    print(f"{file}: {', '.join(parsed.services or {})}")


def check_resources(definition: str, files: list[str]) -> None:
    """Fail unless every resource of the defined kind is as its definition says, and no more."""
    crd = yaml.safe_load(Path(definition).read_text("utf-8"))
    [version] = [each for each in crd["spec"]["versions"] if each["storage"]]
    validator = Draft202012Validator(_closed(version["schema"]["openAPIV3Schema"]))
    for file in files:
        for resource in yaml.safe_load_all(Path(file).read_text("utf-8")):
            if resource and resource["kind"] == crd["spec"]["names"]["kind"]:
                validator.validate(resource)
                print(f"{file}: {resource['kind']} {resource['metadata']['name']}")


def _closed(schema: dict[str, object]) -> dict[str, object]:
    """The schema without fields that it does not name: the server would drop them silently."""
    closed = {
        key: _closed(each) if isinstance(each, dict) else each for key, each in schema.items()
    }
    is_object = isinstance(closed.get("properties"), dict) and closed.get("type") == "object"
    if is_object and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


if __name__ == "__main__":
    kind, *names = sys.argv[1:]
    if kind == "crd":
        check_resources(names[0], names[1:])
    else:
        for name in names:
            check_compose(name)
