"""What is on disk is what a user gets: by wheel, by plain install and by editable install."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dcprog as dc

ROOT = Path(__file__).resolve().parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "dcprog", "models")
PIP_INSTALL = ("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation")


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Standard output of a command, which must succeed."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def where_imported(python: str | Path, cwd: Path, **env: str) -> list[Path]:
    """The files that ``dcprog`` and ``dcprog.models`` are imported from, links resolved."""
    show = "import dcprog, dcprog.models as m; print(dcprog.__file__); print(m.__file__)"
    return [Path(line).resolve() for line in run(python, "-c", show, cwd=cwd, **env).splitlines()]


def declared_packages() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["setuptools"]["packages"]


def source_modules() -> dict[str, Path]:
    """Every module file, keyed by its place in an installed tree."""
    found = {}
    for top, installed in ((ROOT / "dcprog", "dcprog"), (ROOT / "models", "dcprog/models")):
        for folder, subfolders, files in os.walk(top):  # does not follow the link
            subfolders[:] = [name for name in subfolders if name != "__pycache__"]
            for name in files:
                if name.endswith(".py"):
                    path = Path(folder, name)
                    found[f"{installed}/{path.relative_to(top).as_posix()}"] = path
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files a build reads, where it may leave its own behind."""
    target = tmp_path / "copy"
    target.mkdir()
    skip = shutil.ignore_patterns("__pycache__")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=skip)
        else:
            shutil.copy2(ROOT / name, target / name)
    return target


def test_declared_packages_are_the_folders_on_disk() -> None:
    folders = {place.rpartition("/")[0].replace("/", ".") for place in source_modules()}
    assert Counter(declared_packages()) == Counter(folders)


def test_every_package_folder_has_an_init() -> None:
    modules = source_modules()
    for package in declared_packages():
        assert package.replace(".", "/") + "/__init__.py" in modules


def test_link_leads_to_models() -> None:
    link = ROOT / "dcprog" / "models"
    assert link.is_symlink()
    assert os.readlink(link) == os.path.join("..", "models")


@pytest.mark.slow  # make dist tries a release on every Python
@pytest.mark.parametrize("through", ["tree", "sdist"])
def test_wheel(copy: Path, tmp_path: Path, through: str) -> None:
    dist = tmp_path / "dist"
    # Without --wheel, build makes the sdist first and the wheel from the sdist.
    only_wheel = ["--wheel"] if through == "tree" else []
    run(
        *(sys.executable, "-m", "build", "--no-isolation", *only_wheel),
        *("--outdir", dist, copy),
        cwd=tmp_path,
    )
    (wheel,) = dist.glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    assert {name for name in names if name.endswith(".py")} == set(source_modules())
    assert "dcprog/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)

    target = tmp_path / "target"
    run(
        *(sys.executable, "-m", "pip", *PIP_INSTALL, "--target", target, wheel),
        cwd=tmp_path,
    )
    for file in where_imported(sys.executable, tmp_path, PYTHONPATH=str(target)):
        assert file.is_relative_to(target.resolve())


@pytest.mark.slow
def test_install_from_the_folder(copy: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    run(sys.executable, "-m", "pip", *PIP_INSTALL, "--target", target, ".", cwd=copy)
    for file in where_imported(sys.executable, tmp_path, PYTHONPATH=str(target)):
        assert file.is_relative_to(target.resolve())


@pytest.mark.slow
@pytest.mark.parametrize("linked", [True, False], ids=["link", "no link"])
def test_editable_install(copy: Path, tmp_path: Path, linked: bool) -> None:
    if not linked:  # as in a checkout on a system without symbolic links
        (copy / "dcprog" / "models").unlink()
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    names = {"base": str(place), "platbase": str(place)}
    python = Path(sysconfig.get_path("scripts", "venv", names)) / Path(sys.executable).name

    # Lends the dependencies. Python reads no .pth file of a folder lent this way, so an editable
    # dcprog of the lender's stays out of sight.
    lender = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    borrower = Path(sysconfig.get_path("purelib", "venv", names))
    (borrower / "lent.pth").write_text("\n".join(lender) + "\n", encoding="utf-8")

    # --ignore-installed: pip must not take the lender's dcprog for an older one to remove.
    run(
        *(sys.executable, "-m", "pip", "--python", python),
        *(*PIP_INSTALL, "--ignore-installed", "--editable", copy),
        cwd=tmp_path,
    )
    package, models = where_imported(python, tmp_path)
    assert package == (copy / "dcprog" / "__init__.py").resolve()
    assert models == (copy / "models" / "__init__.py").resolve()

    (copy / "models" / "written_later.py").write_text("value = 7\n", encoding="utf-8")
    show = "from dcprog.models.written_later import value; print(value)"
    assert run(python, "-c", show, cwd=tmp_path).strip() == "7"


def imported_names(source: str) -> list[str]:
    """The modules that a source file imports, by statement or by ``import_module``."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names += [ast.unparse(argument).strip("'") for argument in node.args]
    return names


@pytest.mark.parametrize(
    "source", ["import os, ecos", "from ecos import solve", "importlib.import_module('ecos')"]
)
def test_an_import_of_ecos_would_be_seen(source: str) -> None:
    assert "ecos" in imported_names(source)


@pytest.mark.parametrize("folder", ["dcprog", "models", "examples", "benchmarks"])
def test_ecos_is_never_imported_here(folder: str) -> None:
    """ECOS is GPL-3: cvxpy may call it, we may not."""
    for path in (ROOT / folder).rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        imported = imported_names(source) if "ecos" in source else []  # parsing takes a second
        assert not [name for name in imported if name.split(".")[0] == "ecos"], path


def test_versions_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    dc.show_versions()
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert told["dcprog"] == dc.__version__
    assert told["numpy"] == np.__version__


def test_models_need_no_import_of_their_own_and_imports_compile_nothing() -> None:
    code = "import sys; import dcprog as dc; late = {'sklearn', 'joblib', 'numba', 'matplotlib'}"
    code += "; assert not late & set(sys.modules); print(dc.models.CappedSVC.__name__)"
    code += "; assert 'numba' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "CappedSVC"
    with pytest.raises(AttributeError, match="no attribute 'modles'"):
        dc.modles.CappedSVC()


def test_a_certificate_has_its_bound_in_a_fresh_process() -> None:
    script = (
        "import numpy as np, dcprog as dc\n"
        "rows = dc.residual_rows(np.eye(3), np.arange(3.0))\n"
        "result = dc.solve(dc.Risk.from_loss(rows, dc.cap(dc.absolute(), 1.0), dc.l2(1.0)))\n"
        "print(result.certificate(bound=True))\n"
    )
    assert "bound" in run(sys.executable, "-c", script, cwd=ROOT)


def test_the_names_of_the_package_are_the_public_ones() -> None:
    assert dir(dc) == sorted([*dc.__all__, "models"])
    assert all(hasattr(dc, name) for name in dc.__all__)
