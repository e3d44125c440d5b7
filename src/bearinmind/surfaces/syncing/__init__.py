"""How replicas and servers talk to each other, and when."""
