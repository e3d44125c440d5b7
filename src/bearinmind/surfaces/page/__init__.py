"""The page at / and the description of the API at /docs: plain files, served as they are."""
