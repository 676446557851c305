"""A Slurm of one node on loopback, from Debian's packages, for as long as a `with` lasts."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=5
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=work Nodes={host} Default=YES MaxTime=60 State=UP PriorityTier=1
PartitionName=graceful Nodes={host} MaxTime=60 State=UP PriorityTier=1 GraceTime=5
PartitionName=urgent Nodes={host} MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
"""
DEVICES = "NodeName={host} Name=gpu File=/dev/null\nNodeName={host} Name=gpu File=/dev/zero\n"


def why_not() -> str | None:
    """What keeps Slurm from being started here; None where nothing does."""
    missing = [name for name in PROGRAMS if which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (apt-get install slurmctld slurmd slurm-client munge)"
    return None if os.getuid() == 0 else "Slurm's daemons are started by root alone"


def which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_configuration(folder: Path) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    host = socket.gethostname().split(".")[0]
    values = {"host": host, "folder": folder, "cpus": 2, "controller": free_port(), "daemon": free_port()}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**values))
    (folder / "gres.conf").write_text(DEVICES.format(**values))
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)


def commands(folder: Path) -> list[list[str]]:
    """The three daemons, each in the foreground, so that they end with us."""
    paths = {"socket": "socket", "key-file": "key", "pid-file": "pid", "seed-file": "seed"}
    munge = [f"--{option}={folder}/munge.{ending}" for option, ending in paths.items()]
    configuration = ["-f", f"{folder}/slurm.conf", "-D"]
    return [
        [str(which("munged")), "--foreground", "--force", *munge],
        [str(which("slurmctld")), *configuration, "-i"],
        [str(which("slurmd")), *configuration],
    ]


def logs(folder: Path) -> str:
    return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-2000:]}" for path in folder.glob("*.log"))


def wait_until_idle(folder: Path, *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = subprocess.run(["sinfo", "--noheader", "-o", "%T"], capture_output=True, text=True, check=False)
        if found.returncode == 0 and set(found.stdout.split()) == {"idle"}:
            return
        time.sleep(0.5)
    raise TimeoutError(f"Slurm's node is not idle after {seconds} s\n{logs(folder)}")


@contextmanager
def one_node_slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Start munged, slurmctld and slurmd under `folder`; yields the environment that commands need."""
    write_configuration(folder)
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    before = os.environ.get("SLURM_CONF")
    os.environ.update(environment)
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands(folder):
            with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
                daemons.append(subprocess.Popen(command, stdout=log, stderr=log))
            time.sleep(1)
        wait_until_idle(folder)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before
