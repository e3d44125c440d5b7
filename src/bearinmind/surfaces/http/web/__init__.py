"""The first page: plain files, served as they are, which ask the API like any other client."""

from bearinmind.surfaces.http.web.files import mount

__all__ = ["mount"]
