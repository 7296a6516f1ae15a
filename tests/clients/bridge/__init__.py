"""Cases with a beanstalk client on one side of a job and a Gearman client on the other."""
