"""Names of queues that look like flags, numbers and UUIDs on the command line."""

import json

from server_process import clean_environment
from stranger_home import Stranger


class QueueNames(Stranger):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def say(self, *words, **more):
        return self.millrace(*words, environment=clean_environment(MILLRACE_URL=self.server.url),
                             **more)

    def work(self, queue):
        return self.say("work", queue, "--until-empty", "-v", "--", "cat")

    def test_a_name_that_begins_with_a_dash_goes_behind_dashes(self):
        said = self.say("put", "-x", "1", code=2)
        self.assertIn('there is no flag "-x"', said)
        self.assertIn("millrace put -- -x", said)
        self.say("put", "--type", "t", "--", "-x", "1")
        self.assertIn("by its UUID", self.say("work", "-x", "--", "true", code=2))
        queue = json.loads(self.say("queue", "--json", "--", "-x"))
        self.assertRegex(self.work(queue["id"]), r"(?m)^done +-x ")

    def test_work_takes_a_number_for_a_queue(self):
        self.say("queues", "create", "emails", "--number", "7")
        self.say("put", "7", "1")
        self.assertRegex(self.work("7"), r"(?m)^done +emails ")
        self.assertIn("8", self.say("work", "8", "--", "true", code=5))
