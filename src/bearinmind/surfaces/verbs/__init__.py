"""The verbs as they travel: what is asked, what is answered, and one table of all of them."""
