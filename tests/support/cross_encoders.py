"""Small, real cross-encoders: ONNX graphs with a tokenizer, whose scores can be told by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ("walrus", "seal", "sings", "sleeps", "food", "fish", "the", "a", "of")
SPECIAL = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

Node = onnx.NodeProto


def shared_words() -> list[Node]:
    """The logit of a pair: how many words its two texts share, and one for their separators."""
    return [
        helper.make_node("Unsqueeze", ["input_ids", "two"], ["column"]),
        helper.make_node("Unsqueeze", ["input_ids", "one"], ["row"]),
        helper.make_node("Equal", ["column", "row"], ["same"]),
        helper.make_node("Cast", ["same"], ["equal"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["mask", "type"], ["of_memory"]),
        helper.make_node("Sub", ["mask", "of_memory"], ["of_query"]),
        helper.make_node("Unsqueeze", ["of_query", "one"], ["left"]),
        helper.make_node("Unsqueeze", ["of_memory", "two"], ["right"]),
        helper.make_node("MatMul", ["left", "equal"], ["pairs"]),
        helper.make_node("MatMul", ["pairs", "right"], ["counted"]),
        helper.make_node("Squeeze", ["counted", "two"], ["logits"]),
    ]


def length() -> list[Node]:
    """The logit of a pair: how many tokens it has, less 32."""
    return [
        helper.make_node("ReduceSum", ["attention_mask", "one"], ["tokens"]),
        helper.make_node("Sub", ["tokens", "thirty_two"], ["more"]),
        helper.make_node("Cast", ["more"], ["logits"], to=TensorProto.FLOAT),
    ]


def padding() -> list[Node]:
    """The logit of a pair: how far the padding tokens differ from what the mask leaves out."""
    return [
        helper.make_node("Equal", ["input_ids", "three"], ["padded"]),
        helper.make_node("Cast", ["padded"], ["pads"], to=TensorProto.INT64),
        helper.make_node("Add", ["pads", "attention_mask"], ["each"]),
        helper.make_node("Sub", ["each", "one"], ["wrong"]),
        helper.make_node("ReduceSum", ["wrong", "one"], ["total"]),
        helper.make_node("Cast", ["total"], ["logits"], to=TensorProto.FLOAT),
    ]


def wide(columns: int) -> list[Node]:
    """Several numbers for a pair: noughts, and the shared words at the end."""
    counted = shared_words()
    counted[-1] = helper.make_node("Squeeze", ["counted", "two"], ["last"])
    return [
        *counted,
        helper.make_node("Sub", ["last", "last"], ["nought"]),
        helper.make_node("Concat", ["nought"] * (columns - 1) + ["last"], ["logits"], axis=1),
    ]


def broken_numbers() -> list[Node]:
    """Logits that are no numbers."""
    counted = shared_words()
    counted[-1] = helper.make_node("Squeeze", ["counted", "two"], ["some"])
    return [
        *counted,
        helper.make_node("Sub", ["some", "some"], ["nought"]),
        helper.make_node("Div", ["nought", "nought"], ["logits"]),
    ]


def save(
    folder: Path,
    nodes: Sequence[Node],
    *,
    inputs: Sequence[str] = INPUTS,
    place: str = "model.onnx",
    config: Mapping[str, int] | None = None,
) -> Path:
    """Write the folder of a cross-encoder."""
    shape = ["pairs", "tokens"]
    graph = helper.make_graph(
        [*nodes],
        "cross_encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)],
        [
            helper.make_tensor(name, TensorProto.INT64, [1], [value])
            for name, value in {"one": 1, "two": 2, "three": 3, "thirty_two": 32}.items()
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / place)
    tokenizer().save(str(folder / "tokenizer.json"))
    if config:
        (folder / "config.json").write_text(json.dumps(dict(config)), encoding="utf-8")
    return folder


def tokenizer() -> Tokenizer:
    """Words to tokens, pairs as BERT has them, and the padding that files of models often have."""
    vocabulary = SPECIAL | {word: number for number, word in enumerate(WORDS, start=len(SPECIAL))}
    made = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106  a token of another kind
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, SPECIAL[name]) for name in ("[CLS]", "[SEP]")],
    )
    made.enable_padding(length=128, pad_id=SPECIAL["[PAD]"])
    made.enable_truncation(16)
    return made
