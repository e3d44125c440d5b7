"""Replicas and a server driven through random schedules of work and trouble, and what must hold."""
