"""A block design: its cells and nets, and what is wrong with them."""

from dataclasses import dataclass, field

from catalogue import Core, Interface, Pin, core


@dataclass
class Board:
    """Cells, nets and interface nets."""

    cells: dict[str, str] = field(default_factory=dict)  # core of each
    values: dict[str, dict[str, str]] = field(default_factory=dict)  # parameters of each
    ports: dict[str, tuple[bool, str]] = field(default_factory=dict)  # of interfaces: master, type
    nets: dict[str, str] = field(default_factory=dict)  # the driver of each pin that has one
    buses: list[tuple[str, str, str]] = field(default_factory=list)  # port or none, and both ends
    addresses: dict[str, range] = field(default_factory=dict)

    def core(self, cell: str) -> Core:
        """The core of a cell, with its parameters."""
        if cell not in self.cells:
            raise ValueError(f"there is no cell {cell}")
        return core(self.cells[cell], self.values[cell])

    def pin(self, path: str) -> Pin:
        """A pin by its path."""
        cell, _, name = path.partition("/")
        if name not in self.core(cell).pins:
            raise ValueError(f"{self.cells[cell]} has no pin {name}")
        return self.core(cell).pins[name]

    def interface(self, path: str) -> Interface:
        """An interface by its path."""
        cell, _, name = path.partition("/")
        if name not in self.core(cell).interfaces:
            raise ValueError(f"{self.cells[cell]} has no interface {name}")
        return self.core(cell).interfaces[name]

    def connect(self, pins: list[str]) -> None:
        """Join pins to a net; its driver is among them, or drives one of them already."""
        drivers = {p for p in pins if not self.pin(p).is_input}
        drivers |= {self.nets[p] for p in pins if p in self.nets}
        if len(drivers) != 1:
            raise ValueError(f"{' '.join(pins)}: {len(drivers)} drivers")
        (driver,) = drivers
        for pin in pins:
            self.check(driver, pin)
            self.nets[pin] = driver

    def check(self, driver: str, pin: str) -> None:
        """Whether a driver may drive a pin: what it carries, and how wide it is."""
        source, target = self.pin(driver), self.pin(pin)
        carried = {source.carries, "reset_any"} if "reset" in source.carries else {source.carries}
        # One bit of data may be a reset or a clock that is never used.
        if target.carries not in carried or source.bits != target.bits:
            raise ValueError(f"{driver} ({source.carries}) does not fit {pin} ({target.carries})")

    def connect_interfaces(self, port: str, one: str, other: str) -> None:
        """Join two interfaces, or a port and an interface."""
        second = self.interface(other)
        used = {end for _, *ends in self.buses for end in ends}
        if used & {one, other}:
            raise ValueError(f"{one} or {other} is connected already")
        if port:
            is_master, kind = self.ports[port]
            if (is_master, kind) != (second.is_master, second.kind):
                raise ValueError(f"port {port} does not fit {other}")
        else:
            first = self.interface(one)
            if first.kind != second.kind or first.bytes != second.bytes:
                raise ValueError(f"{one} ({first.bytes}) does not fit {other} ({second.bytes})")
            if not first.is_master or second.is_master:
                raise ValueError(f"{one} to {other}: a master, then a slave")
        self.buses.append((port, one, other))

    def assign(self, segment: str, begin: int, size: int) -> None:
        """Give registers their address."""
        new = range(begin, begin + size)
        if size & (size - 1) or size < 4096 or begin % size:
            raise ValueError(f"{segment}: {size} bytes at {begin:#x}")
        if any(new.start < r.stop and r.start < new.stop for r in self.addresses.values()):
            raise ValueError(f"{segment} overlaps another")
        self.addresses[segment] = new

    def clocks(self, cell: str, names: tuple[str, ...]) -> set[str]:
        """The drivers of these clock pins."""
        paths = [f"{cell}/{name}" for name in names]
        return {self.nets.get(p, p if not self.pin(p).is_input else "") for p in paths} - {""}

    def problems(self) -> list[str]:
        """What is open, and what is of another clock."""
        wrong = []
        joined = {end for _, *ends in self.buses for end in ends}
        for cell in self.cells:
            for name, pin in self.core(cell).pins.items():
                if pin.must_connect and f"{cell}/{name}" not in self.nets:
                    wrong.append(f"{cell}/{name} is open")
                if pin.is_input and pin.clock:
                    wrong += self.reset_problems(cell, name, pin)
            for name, found in self.core(cell).interfaces.items():
                if found.must_connect and f"{cell}/{name}" not in joined:
                    wrong.append(f"{cell}/{name} is open")
        for port, one, other in self.buses:
            ends = [self.clocks(p.split("/")[0], self.interface(p).clocks)
                    for p in (one, other) if not port]  # fmt: skip
            if ends and not ends[0] & ends[1]:
                wrong.append(f"{one} and {other} have no clock in common")
        return wrong

    def reset_problems(self, cell: str, name: str, pin: Pin) -> list[str]:
        """Whether a reset comes from the clock of what it resets."""
        driver = self.nets.get(f"{cell}/{name}")
        if driver is None or not self.pin(driver).clock:
            return []
        source = self.clocks(driver.split("/")[0], (self.pin(driver).clock,))
        own = self.clocks(cell, (pin.clock,))
        return [] if source == own else [f"{driver} is not of the clock of {cell}/{name}"]
