"""Runs experiments of conf/experiment in a copy of conf/, whose outputs are in the test's folder."""
import json
import shutil
import sys

import program

try:
    import h5py
except ImportError:
    h5py = None


class ShippedExperiment(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py is not installed")
        self.conf = self.folder / "conf"
        shutil.copytree(program.TOP / "conf", self.conf)
        for path in self.conf.rglob("*.yaml"):  # the test's Python runs the reward commands
            text = path.read_text()
            if "python3 conf" in text:
                path.write_text(text.replace("python3 conf", f"{sys.executable} conf"))

    def change(self, folder, **files):
        """Replaces texts in files of a folder of conf/: {file: {old: new}}."""
        for file, texts in files.items():
            path = self.conf / folder / f"{file}.yaml"
            text = path.read_text()
            for old, new in texts.items():
                self.assertIn(old, text)
                text = text.replace(old, new)
            path.write_text(text)

    def run_experiment(self, name, *keys, **options):
        job = self.start(2, *keys, config=self.conf / "experiment" / f"{name}.yaml", **options)
        ended = job.wait(deadline_s=2700)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])

    def stage(self, experiment, name):
        """Returns the run directory of a stage."""
        return self.output / experiment / "stages" / name / "latest"

    def results_of(self, experiment, stage):
        """Returns the results of a stage: {name: value}."""
        summary = json.loads((self.run_folder(experiment) / "summary.json").read_text())
        return {name.removeprefix(f"{stage}."): result["value"]
                for name, result in summary["results"].items() if name.startswith(f"{stage}.")}

    def cells(self, experiment):
        """Returns the columns of table `cells` of an experiment."""
        with h5py.File(self.run_folder(experiment) / "results.h5") as file:
            columns = {name: column for name, column in file["cells"].items()
                       if isinstance(column, h5py.Dataset)}
            return {name: (column.asstr() if h5py.check_string_dtype(column.dtype) else column)[:]
                    for name, column in columns.items()}
