"""Who calls, as the guard found out. Routes and services decide by this and by nothing else."""

from dataclasses import dataclass

from comity.contract.identity import Role


@dataclass(frozen=True)
class Principal:
    """`organizations` in the order of the token: what the caller starts belongs to the first.

    `everywhere`: rows of every organisation are in view. True for the operator and for flow runs alone.
    """

    subject: str
    organizations: tuple[str, ...]
    role: Role
    everywhere: bool = False

    @property
    def sees(self) -> tuple[str, ...] | None:
        """Whose rows the caller may see; None is everybody's."""
        return None if self.everywhere else self.organizations

    @property
    def home(self) -> str:
        """Whose a thing is that this caller makes."""
        return self.organizations[0]

    @property
    def can_submit(self) -> bool:
        """May start crawls."""
        return self.role in ("submitter", "admin")
