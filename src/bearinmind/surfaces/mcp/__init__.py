"""The Model Context Protocol: what agents are told, asked through and answered with."""
