"""Names of queues that look like flags on the command line."""

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

    def test_a_name_that_begins_with_a_dash_goes_behind_dashes(self):
        said = self.say("put", "-x", "1", code=2)
        self.assertIn('there is no flag "-x"', said)
        self.assertIn("millrace put -- -x", said)
        self.say("put", "--type", "t", "--", "-x", "1")
        self.assertIn("cannot be named here", self.say("work", "-x", "--", "true", code=2))
        queue = json.loads(self.say("queue", "--json", "--", "-x"))
        self.assertEqual((queue["name"], queue["counts"]["ready"]), ("-x", 1))
