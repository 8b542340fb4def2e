"""The registry server: versions of skills for a team or the world, with a log that proves its acts."""
