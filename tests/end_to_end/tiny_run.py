"""Runs jobs whose configuration file has only a name, so that all keys are arguments."""
import program

try:
    import h5py
except ImportError:
    h5py = None


class TinyRun(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py is not installed")
        self.model = self.folder / "model"
        self.config = self.folder / "run.yaml"
        self.config.write_text("schema: 1\nrun: {name: tiny}\n")

    def run_job(self, ranks, *arguments, code=0, **options):
        return self.run_to(code, ranks, *arguments, config=self.config, **options)
