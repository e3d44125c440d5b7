"""The verbs as they travel: requests, answers, functions, and one table of all of them."""
