"""The commands of Vivado that the scripts use: each name is checked, anything else is an error.

Objects are words: `cell NAME`, `pin CELL/PIN`, `bus CELL/INTERFACE`, `file PATH` and so on.
`validate_bd_design` looks at the finished design (`board.py`).
"""

import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path

from board import Board
from catalogue import core, names, parameters
from tcl import Arguments, Interpreter

PROJECT = {"board_part", "ip_repo_paths"}
FILE = {"SCOPED_TO_REF", "USED_IN", "PROCESSING_ORDER"}
CORE = {"name", "version", "display_name", "description", "supported_families"}
PARAMETER = {"value_validation_type", "value_validation_list"}
INTERFACE_PORT = {"CONFIG.FREQ_HZ"}


@dataclass
class Package:
    """A packaged IP: its sources, the constraints with their cells, its properties."""

    files: list[str] = field(default_factory=list)
    scopes: dict[str, dict[str, str]] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


class Vivado:
    """A session of Vivado."""

    def __init__(self) -> None:
        self.tcl = Interpreter()
        self.board = Board()
        self.packages: dict[str, Package] = {}
        self.part = ""
        self.top = ""
        self.is_validated = False
        for name in dir(self):
            if name.startswith("do_"):
                self.tcl.add(name[3:].replace("__", "::"), getattr(self, name))

    def source(self, script: Path, *words: str) -> None:
        """Run a script with its arguments."""
        self.tcl.tcl.setvar("argv", words)
        self.tcl.tcl.setvar("script", str(script))
        self.tcl.run("source $script")

    def one(self, words: str) -> tuple[str, str]:
        """Kind and name of the only object in a list."""
        (word,) = self.tcl.split(words)
        kind, _, name = word.partition(" ")
        return kind, name

    # ---------------------------------------------------------------- projects and files
    def do_create_project(self, *words: str) -> None:
        given = Arguments.parse(words, flags="-force", options="-part")
        name, _ = given.rest
        if not re.fullmatch(r"xczu(28|48)dr-ffvg1517-2-e", given.options["-part"]):
            raise ValueError(f"no part is called {given.options['-part']}")
        self.part, self.top = given.options["-part"], ""
        self.packages[name] = Package()

    @property
    def package(self) -> Package:
        """What the open project packages."""
        return list(self.packages.values())[-1]

    def do_close_project(self) -> None:
        self.part = ""

    def do_current_project(self) -> tuple[str, ...]:
        return ("project",)

    def do_current_fileset(self) -> tuple[str, ...]:
        return ("fileset",)

    def do_add_files(self, *words: str) -> None:
        given = Arguments.parse(words, flags="-norecurse", options="-fileset")
        (paths,) = given.rest
        for path in self.tcl.split(paths):
            if not Path(path).is_file():
                raise ValueError(f"there is no file {path}")
            is_constraint = given.options.get("-fileset") == "constrs_1"
            if is_constraint != path.endswith(".xdc"):
                raise ValueError(f"{path} is of another file set")
            if is_constraint:
                self.package.scopes[path] = {}
            else:
                self.package.files.append(path)

    def do_get_files(self, name: str) -> tuple[str, ...]:
        return tuple(f"file {p}" for p in self.package.scopes if Path(p).name == name)

    def do_update_compile_order(self, *words: str) -> None:
        Arguments.parse(words, options="-fileset")

    def do_set_property(self, *words: str) -> None:
        given = Arguments.parse(words, options="-dict")
        if "-dict" in given.options:
            (target,) = given.rest
            pairs = self.tcl.split(given.options["-dict"])
            values = dict(zip(pairs[::2], pairs[1::2], strict=True))
        else:
            name, value, target = given.rest
            values = {name: value}
        kind, name = self.one(target)
        for key, value in values.items():
            self.set_one(kind, name, key, value)

    def set_one(self, kind: str, name: str, key: str, value: str) -> None:
        """Set a property of an object, if it has one of that name."""
        if kind == "cell":
            if key.removeprefix("CONFIG.") not in parameters(self.board.cells[name]):
                raise ValueError(f"{self.board.cells[name]} has no parameter {key}")
            self.board.values[name][key.removeprefix("CONFIG.")] = value
            return
        known = {"project": PROJECT, "file": FILE, "core": CORE, "parameter": PARAMETER,
                 "intf_port": INTERFACE_PORT, "fileset": {"top"}, "block": {"range"},
                 "busif": {"slave_memory_map_ref"}}  # fmt: skip
        if key not in known[kind]:
            raise ValueError(f"a {kind} has no property {key}")
        if kind == "file":
            self.package.scopes[name][key] = value
        elif kind == "fileset":
            if value not in [Path(p).stem for p in self.package.files]:
                raise ValueError(f"no file of the project has the module {value}")
            self.top = value
        elif kind in ("core", "block"):
            self.package.properties[key] = value

    # ---------------------------------------------------------------- packaging
    def do_ipx__package_project(self, *words: str) -> None:
        Arguments.parse(words, "-import_files -force", "-root_dir -vendor -library -taxonomy")
        if not self.top:
            raise ValueError("the project has no top")

    def do_ipx__current_core(self) -> tuple[str, ...]:
        return (f"core {self.top}",)

    def own(self, words: tuple[str, ...]) -> tuple[str, str]:
        """A name, and the kind of what it is looked up in."""
        given = Arguments.parse(words, options="-of_objects")
        (name,) = given.rest
        return name, self.one(given.options["-of_objects"])[0]

    def do_ipx__get_user_parameters(self, *words: str) -> tuple[str, ...]:
        name, of = self.own(words)
        if of != "core" or name not in parameters(f"samplewire:rtl:{self.top}:1.0"):
            raise ValueError(f"{self.top} has no parameter {name}")
        return (f"parameter {name}",)

    def do_ipx__get_bus_interfaces(self, *words: str) -> tuple[str, ...]:
        name, of = self.own(words)
        if of != "core" or name not in core(f"samplewire:rtl:{self.top}:1.0", {}).interfaces:
            raise ValueError(f"{self.top} has no interface {name}")
        return (f"busif {name}",)

    def do_ipx__get_memory_maps(self, *words: str) -> tuple[str, ...]:
        name, _ = self.own(words)
        return (f"map {name}",) if f"map {name}" in self.package.steps else ()

    def do_ipx__add_memory_map(self, name: str, target: str) -> None:
        self.one(target)
        self.package.steps.append(f"map {name}")

    def do_ipx__add_address_block(self, name: str, target: str) -> None:
        self.one(target)
        self.package.steps.append(f"block {name}")

    def do_ipx__get_address_blocks(self, *words: str) -> tuple[str, ...]:
        name, of = self.own(words)
        return (f"block {name}",) if of == "map" and f"block {name}" in self.package.steps else ()

    def step(self, name: str, target: str) -> None:
        """One of the last steps of packaging."""
        if self.one(target)[0] != "core":
            raise ValueError(f"{target} is no core")
        self.package.steps.append(name)

    def do_ipx__create_xgui_files(self, target: str) -> None:
        self.step("create_xgui_files", target)

    def do_ipx__update_checksums(self, target: str) -> None:
        self.step("update_checksums", target)

    def do_ipx__check_integrity(self, target: str) -> None:
        self.step("check_integrity", target)

    def do_ipx__save_core(self, target: str) -> None:
        self.step("save_core", target)

    # ---------------------------------------------------------------- block designs
    def do_update_ip_catalog(self) -> None:
        pass

    def do_get_ipdefs(self, *words: str) -> tuple[str, ...]:
        given = Arguments.parse(words, flags="-all", options="-filter")
        match = re.fullmatch(r'VLNV =~ (\S+) && UPGRADE_VERSIONS == ""', given.options["-filter"])
        return tuple(v for v in names() if fnmatch.fnmatch(v, match[1])) if match else ()

    def do_create_bd_design(self, name: str) -> None:
        if not name.isidentifier():
            raise ValueError(f"{name} is no name")

    def do_create_bd_cell(self, *words: str) -> tuple[str, ...]:
        given = Arguments.parse(words, options="-type -vlnv")
        (name,) = given.rest
        if given.options["-vlnv"] not in names() or name in self.board.cells:
            raise ValueError(f"{name}: no such core, or a name that is taken")
        self.board.cells[name] = given.options["-vlnv"]
        self.board.values[name] = {}
        return (f"cell {name}",)

    def do_get_bd_cells(self, name: str) -> tuple[str, ...]:
        if name not in self.board.cells:
            raise ValueError(f"there is no cell {name}")
        return (f"cell {name}",)

    def do_get_bd_pins(self, path: str) -> tuple[str, ...]:
        self.board.pin(path)
        return (f"pin {path}",)

    def do_get_bd_intf_pins(self, path: str) -> tuple[str, ...]:
        self.board.interface(path)
        return (f"bus {path}",)

    def do_create_bd_intf_port(self, *words: str) -> tuple[str, ...]:
        given = Arguments.parse(words, options="-mode -vlnv")
        (name,) = given.rest
        kind = given.options["-vlnv"].split(":")[2]
        self.board.ports[name] = (given.options["-mode"] == "Master", kind)
        return (f"intf_port {name}",)

    def do_get_bd_intf_ports(self, name: str) -> tuple[str, ...]:
        if name not in self.board.ports:
            raise ValueError(f"there is no port {name}")
        return (f"intf_port {name}",)

    def do_connect_bd_net(self, *words: str) -> None:
        pins = [self.one(w) for w in words]
        if len(pins) < 2 or any(kind != "pin" for kind, _ in pins):
            raise ValueError("a net takes two pins or more")
        self.board.connect([name for _, name in pins])

    def do_connect_bd_intf_net(self, *words: str) -> None:
        (one, first), (other, second) = (self.one(w) for w in words)
        if other != "bus" or one not in ("bus", "intf_port"):
            raise ValueError("an interface net takes interfaces")
        self.board.connect_interfaces("" if one == "bus" else first, first, second)

    def do_apply_bd_automation(self, *words: str) -> None:
        given = Arguments.parse(words, options="-rule -config")
        (target,) = given.rest
        if self.one(target)[0] != "cell":
            raise ValueError(f"{target} is no cell")

    def do_get_bd_addr_spaces(self, path: str) -> tuple[str, ...]:
        if self.board.cells.get(path.split("/")[0], "").split(":")[2:3] != ["zynq_ultra_ps_e"]:
            raise ValueError(f"{path} is no address space")
        return (f"space {path}",)

    def do_get_bd_addr_segs(self, path: str) -> tuple[str, ...]:
        cell, _, segment = path.partition("/")
        if segment != self.board.core(cell).segment:
            raise ValueError(f"{cell} has no segment {segment}")
        return (f"segment {path}",)

    def do_assign_bd_address(self, *words: str) -> None:
        given = Arguments.parse(words, options="-offset -range -target_address_space")
        (target,) = given.rest
        begin, size = (int(given.options[o], 0) for o in ("-offset", "-range"))
        self.board.assign(self.one(target)[1], begin, size)

    def do_validate_bd_design(self) -> None:
        wrong = self.board.problems()
        if wrong:
            raise ValueError("; ".join(wrong))
        self.is_validated = True

    def do_save_bd_design(self) -> None:
        if not self.is_validated:
            raise ValueError("the design was not validated")
