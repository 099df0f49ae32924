"""Trains with a recipe of language models, and compares the files of runs."""
import program

try:
    import h5py
except ImportError:
    h5py = None


class RecipeCase(program.ProgramTest):
    """Trains with CONFIG and KEYS. The bytes of FILES must not depend on ranks and kills."""
    CONFIG = None
    KEYS = ("run.name=tiny", f"model.init={program.SMALL_LM}", "train.lanes=4",
            "train.max_steps=6", "train.eval_every=3", "data.max_samples=24")
    FILES = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors")

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py is not installed")

    def train(self, ranks, *arguments, code=0, **options):
        return self.run_to(code, ranks, *self.keys_with(arguments), config=self.CONFIG, **options)

    def keys_with(self, arguments):
        """Returns KEYS and `arguments`, which replace keys of the same name."""
        keys = {word.partition("=")[0]: word for word in (*self.KEYS, *arguments)}
        return list(keys.values())

    def bytes_of(self, folder=None):
        folder = folder or self.run_folder()
        return {name: (folder / name).read_bytes() for name in self.FILES}

    def golden(self, *arguments):
        elsewhere = self.folder / "golden"
        self.train(1, *arguments, f"run.output={elsewhere}")
        return self.bytes_of(elsewhere / "tiny" / "latest")

    def columns(self, table):
        """Returns the columns of a table of results.h5, by name."""
        with h5py.File(self.run_folder() / "results.h5") as file:
            return {name: column[:] for name, column in file[table].items()}
