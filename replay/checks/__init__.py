"""What a sound stream keeps to, one check for each rule; every check sees every event once, in order."""
