"""Invitation codes: hard to guess, easy to type, and kept as digests."""

from tacit.survey.invitation import code_digest, new_codes


def test_codes_are_different_and_readable() -> None:
    codes = new_codes(2000)
    assert len(set(codes)) == 2000
    assert all(len(code) == 19 and code[4::5] == "---" for code in codes)
    assert not set("".join(codes)) & set("ILOU")


def test_a_code_is_the_same_however_it_is_typed() -> None:
    (code,) = new_codes(1)
    digest = code_digest("sleep", code)
    assert digest is not None
    for typed in (code.lower(), code.replace("-", " "), f" {code} ", code.replace("0", "o").replace("1", "l")):
        assert code_digest("sleep", typed) == digest
    assert code_digest("other", code) != digest, "a code invites to one survey"


def test_what_cannot_be_a_code_is_none() -> None:
    for text in ("", "abc", "U" * 16, "0" * 15, "0" * 17, "é" * 16, "0000-0000-0000-000!"):
        assert code_digest("sleep", text) is None
