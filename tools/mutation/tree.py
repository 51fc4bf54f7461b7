"""A copy of the source tree, in which mutants are built."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mutation import source
from mutation.draw import SOURCES, Mutant
from mutation.programs import LIBRARY, PACKAGES, STAGES, Programs

ROOT_MODULE = SOURCES + "lib.rs"
NOT_CONST = re.compile(r"^cannot call non-const .*`(?:[^`]*::)?(\w+)(?:::<[^`]*>)?` in const")
NOT_CONST_CODE = "E0015"
ROUNDS_MAX = 30


class BuildError(Exception):
    """The tree does not build, and not because of a mutant."""


@dataclass
class Tree:
    """The copy, and what has been built of it."""

    root: Path
    """What it is a copy of."""
    folder: Path
    """Where it is, with all that is built."""
    apart: list[Mutant] = field(default_factory=list)
    """Those that do not build beside others."""
    kept_const: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    """The library's files as they are without a mutant."""

    @property
    def path(self) -> Path:
        return self.folder / "tree"

    def copy(self) -> None:
        """Brings the copy up to date. Files that are the same keep their time of change."""
        command = ["git", "ls-files", "-coz", "--exclude-standard"]
        listed = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, check=True)
        names = {it for it in os.fsdecode(listed.stdout).split("\0") if it}
        for name in names:
            if name.startswith(SOURCES) and name.endswith(".rs"):
                self.texts[name] = (self.root / name).read_text()
            elif (self.root / name).is_file():
                put(self.path / name, (self.root / name).read_bytes())
                shutil.copymode(self.root / name, self.path / name)
        for path in (self.path / "crates").rglob("*"):
            if path.is_file() and str(path.relative_to(self.path)) not in names:
                path.unlink()

    def write(self, changed: dict[str, str]) -> None:
        """Writes the library's files, some of them changed."""
        for name, text in self.texts.items():
            put(self.path / name, changed.get(name, text).encode())

    def build_together(self, mutants: dict[int, Mutant]) -> Programs:
        """Builds programs that have all mutants that build; `apart` has the others."""
        key = self.key(mutants)
        known = self.folder / "apart.json"
        if known.is_file() and (before := json.loads(known.read_text()))["key"] == key:
            self.apart = [it for it in mutants.values() if it.name in before["apart"]]
            self.kept_const = set(before["kept_const"])
        else:
            # Copies of a body that each return an `impl Trait` return different types.
            self.apart = [
                it for it in mutants.values() if not it.function or "impl " in it.returned
            ]
        for _ in range(ROUNDS_MAX):
            left = {number: it for number, it in mutants.items() if it not in self.apart}
            arms = self.write_together(left)
            errors = self.check()
            if not errors:
                break
            bad = self.blamed(errors, arms)
            self.apart += [it for it in left.values() if it in bad]
        else:
            raise BuildError(f"errors after {ROUNDS_MAX} rounds")
        names = [it.name for it in self.apart]
        found = {"key": key, "apart": names, "kept_const": sorted(self.kept_const)}
        known.write_text(json.dumps(found, indent=1))
        return self.build(PACKAGES, [it.program for it in STAGES])

    def key(self, mutants: dict[int, Mutant]) -> str:
        """Differs when the library or the mutants do."""
        named = {number: it.name for number, it in mutants.items()}
        text = json.dumps([self.texts, named], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def write_together(self, mutants: dict[int, Mutant]) -> dict[str, list[source.Arm]]:
        """Writes the library with all these mutants, and says where each is."""
        changed, arms = {}, {}
        for name, text in self.texts.items():
            inside = {number: it for number, it in mutants.items() if it.file == name}
            mutated, arms[name] = source.together(text, inside)
            changed[name] = source.without_const(mutated, self.kept_const)
        changed[ROOT_MODULE] += source.CHOICE_SOURCE
        self.write(changed)
        return arms

    def blamed(self, errors: list[dict], arms: dict[str, list[source.Arm]]) -> set[Mutant]:
        """Mutants that these errors are of. Those may be of a mutant, or of what was `const`."""
        bad = set()
        unknown = []
        kept_before = len(self.kept_const)
        for error in errors:
            match = NOT_CONST.match(error["message"])
            if match and (error["code"] or {}).get("code") == NOT_CONST_CODE:
                self.kept_const.add(match[1])
                continue
            of = {
                arm.mutant
                for span in error["spans"]
                for arm in arms.get(span["file_name"], ())
                if arm.line_first <= span["line_start"] <= arm.line_last
            }
            bad |= of
            if not of:
                unknown.append(error["rendered"])
        bad |= {
            arm.mutant
            for file, found in arms.items()
            for arm in found
            if source.is_const(self.texts[file], arm.mutant, self.kept_const)
        }
        # What has no other cause may follow from an error that has.
        if not bad and len(self.kept_const) == kept_before:
            raise BuildError("\n".join(unknown))
        return bad

    def write_alone(self, mutant: Mutant) -> None:
        self.write({mutant.file: source.alone(self.texts[mutant.file], mutant)})

    def check(self) -> list[dict]:
        """The errors of all that is to be built."""
        packages = (f"--package={it}" for it in PACKAGES)
        done = self.cargo("check", "--keep-going", "--lib", "--tests", *packages)
        errors = [
            it["message"]
            for it in done
            if it["reason"] == "compiler-message" and it["message"]["level"] == "error"
        ]
        if not errors and not all(it["success"] for it in done if it["reason"] == "build-finished"):
            raise BuildError("cargo check fails without an error of the source")
        # "Aborting due to" has no place.
        return [it for it in errors if it["spans"]] or errors

    def build(self, packages: Iterable[str], targets: Iterable[str]) -> Programs:
        """Builds test programs."""
        command = ["test", "--no-run", *(f"--package={it}" for it in packages)]
        for target in dict.fromkeys(targets):
            command += ["--lib"] if target == LIBRARY else ["--test", target]
        messages = self.cargo(*command)
        if not all(it["success"] for it in messages if it["reason"] == "build-finished"):
            raise BuildError(
                "\n".join(it["message"]["rendered"] for it in messages if "message" in it)
            )
        programs = {}
        for it in messages:
            if it.get("executable") and it["profile"]["test"]:
                package = Path(it["manifest_path"]).parent.name
                is_library = "lib" in it["target"]["kind"]
                target = LIBRARY if is_library else it["target"]["name"]
                programs[package, target] = Path(it["executable"])
        return programs

    def cargo(self, *arguments: str) -> list[dict]:
        environment = os.environ | {
            "CARGO_TARGET_DIR": str(self.folder / "build"),
            "CARGO_INCREMENTAL": "1",
            # What is checked and what is tested share their C libraries.
            "CARGO_PROFILE_DEV_OPT_LEVEL": "2",
            # Backtraces are not used.
            "CARGO_PROFILE_DEV_DEBUG": "false",
            # A change may make something unused, and is tried all the same.
            "RUSTFLAGS": "--cap-lints allow",
        }
        done = subprocess.run(
            ["cargo", *arguments, "--quiet", "--message-format=json"],
            cwd=self.path,
            env=environment,
            stdout=subprocess.PIPE,
            # The messages are in what it prints to stdout.
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return [json.loads(it) for it in done.stdout.splitlines() if it.startswith("{")]


def kept(programs: Programs, folder: Path) -> Programs:
    """Copies of programs, which a later build leaves as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    copies = {}
    for (package, target), path in programs.items():
        copies[package, target] = Path(shutil.copy2(path, folder / f"{package}-{target}"))
    return copies


def put(path: Path, content: bytes) -> None:
    """Writes a file unless it has this content."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def target_folder(root: Path) -> Path:
    """Where cargo builds, by its configuration or the environment."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True)
    return Path(json.loads(done.stdout)["target_directory"])
