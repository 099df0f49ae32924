"""Secrets in the environment, on the command line and in URLs reach no file of a run."""
import stat

import program

# Values that no other text has. Each stands where a user or Slurm may put a secret.
ENVIRONMENT = {
    "SLURM_JWT": "planted-alpha-1", "SLURM_COMMENT": "pw=planted-beta-2",
    "OMP_SECRETPASS": "planted-gamma-3", "NCCL_PROXY": "http://user:planted-delta-4@proxy",
    "NCCL_SOCKET_IFNAME": "http://user:planted-epsilon-5@proxy/x", "MGPU_FOO": "planted-zeta-6",
    "HF_TOKEN": "hf_plantedetaplanted7", "AWS_SECRET_ACCESS_KEY": "planted-theta-8",
    "UCX_TLS_PASSWORD": "planted-iota-9", "OMPI_MCA_secret": "planted-kappa-10"}


class Secrets(program.ProgramTest):

    def texts(self):
        """Returns the bytes of each file of the run, by path."""
        folder = self.run_folder()
        return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

    def test_no_file_of_a_run_has_them(self):
        ended = self.run_to(0, 2, "train.max_steps=8", "--verbose", env=ENVIRONMENT)
        for path, content in self.texts().items():
            self.assertNotIn(b"planted", content, path)
        self.assertNotIn("planted", ended.out + ended.err)

    def test_a_failed_run_does_not_tell_them(self):
        fault = program.failpoint("checkpoint.write:1:EIO")
        ended = self.run_program(2, "train.max_steps=8", env=ENVIRONMENT | fault)
        self.assertNotEqual(ended.code, 0)
        for path, content in self.texts().items():
            self.assertNotIn(b"planted", content, path)
        self.assertNotIn("planted", ended.out + ended.err)

    def test_the_record_of_the_environment_is_for_its_owner(self):
        self.run_to(0, 1, "train.max_steps=8", env={"NCCL_DEBUG": "WARN"})
        repro = self.run_folder() / "repro"
        self.assertEqual(stat.S_IMODE(repro.stat().st_mode), 0o700)
        self.assertIn("NCCL_DEBUG=WARN\n", (repro / "env.txt").read_text())

    def test_the_environment_for_a_bug_report_has_none(self):
        ended = self.run_program(1, "--env", config=None, env=ENVIRONMENT)
        self.assertEqual(ended.code, 0, ended.err)
        self.assertNotIn("planted", ended.out)


if __name__ == "__main__":
    program.main()
