"""Runs the load tool against our server and its peers, and tells what it measured."""
