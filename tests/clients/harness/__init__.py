"""What the suites of real clients share: servers, TAP programs, npm packages, actors."""
