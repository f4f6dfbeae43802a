"""Tables that questions in tests are about: visits and treatments of patients, staff, and public lists."""

from datetime import date, datetime
from fractions import Fraction

from tacit.plan.facts import Facts, Type
from tacit.sql import AskableTable, Catalog

__all__ = ["CLINIC"]

WARDS = ("east", "north", "west")


def number(low: int, high: int, step: str = "0.01", nullable: bool = True) -> Facts:
    return Facts(type=Type.NUMBER, low=Fraction(low), high=Fraction(high), step=Fraction(step), nullable=nullable)


CLINIC = Catalog(
    tables={
        "visits": AskableTable(
            unit="patient_id",
            columns={
                "patient_id": Facts(type=Type.INTEGER),
                "ward": Facts(type=Type.TEXT, domain=WARDS),
                "cost": number(0, 5000),
                "age": Facts(type=Type.INTEGER, low=0, high=120, step=Fraction(1)),
                "day": Facts(type=Type.DATE, low=date(2023, 1, 1), high=date(2024, 12, 31)),
                "seen": Facts(type=Type.TIMESTAMP, low=datetime(2023, 1, 1), high=datetime(2025, 1, 1)),
                "urgent": Facts(type=Type.BOOLEAN, domain=(False, True)),
                "note": Facts(type=Type.TEXT),
                "weight": Facts(type=Type.NUMBER, why='column "weight" has no bounds'),
                "Ward Name": Facts(type=Type.TEXT),
                "drug": Facts(type=Type.INTEGER, low=1, high=50, step=Fraction(1)),
            },
            hidden=frozenset({"salary"}),
            untyped=frozenset({"photo"}),
        ),
        "treatments": AskableTable(
            unit="patient",
            columns={
                "patient": Facts(type=Type.INTEGER),
                "drug": Facts(type=Type.INTEGER, low=1, high=50, step=Fraction(1)),
                "dose": number(0, 100, "0.5"),
            },
            rows_per_unit=20,
        ),
        "staff": AskableTable(
            row_is_unit=True,
            columns={"ward": Facts(type=Type.TEXT, domain=WARDS), "salary": number(0, 10_000, "1")},
        ),
        "wards": AskableTable(
            private=False,
            rows=3,
            columns={
                "ward": Facts(type=Type.TEXT, domain=WARDS, nullable=False),
                "floor": Facts(type=Type.INTEGER, low=0, high=9, step=Fraction(1)),
                "city": Facts(type=Type.TEXT),
            },
        ),
        "drugs": AskableTable(
            private=False,
            rows=20,
            columns={
                "drug": Facts(type=Type.INTEGER, low=1, high=50, step=Fraction(1)),
                "price": number(0, 200),
                "family": Facts(type=Type.TEXT),
            },
        ),
        "posts": AskableTable(
            private=False,
            columns={"post": Facts(type=Type.TEXT, domain=WARDS), "beds": Facts(type=Type.INTEGER, low=0, high=90)},
            unique=frozenset({"post"}),
        ),
        "orphans": AskableTable(columns={"x": Facts(type=Type.INTEGER)}),
    }
)
