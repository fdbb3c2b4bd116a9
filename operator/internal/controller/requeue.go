package controller

import (
	"context"
	"time"
)

const (
	// requeueTime is how long after a node was lost its jobs may take to be requeued: those of several nodes first end
	// on the others (KillWait).
	requeueTime = 40 * time.Second
	// requeueEvery is how often it is looked for them in that time.
	requeueEvery = time.Second
	// longestDelay is more than Slurm's own default delay, in case the user has asked for that.
	longestDelay = 125 * time.Second
)

// hastenRequeued lets jobs whose node was lost run again at once. Slurm lets them wait until no slurmd can hold an old
// credential of theirs any more (cred_expire); here, the slurmd that held it is gone with its pod. A slurmd of another
// node of the job takes a credential that is newer than the end of the job there.
func (s *scope) hastenRequeued(ctx context.Context) error {
	now := s.Clock.Now()
	if !s.known || now.After(s.memory.requeueUntil) || now.Sub(s.memory.requeueSeen) < requeueEvery {
		return nil
	}
	s.memory.requeueSeen = now
	jobs, err := s.slurm.JobInfos(ctx)
	if err != nil {
		s.log(ctx).Info("slurmctld does not tell which jobs were requeued, they run again a little later", "error", err.Error())
		return nil
	}
	completing := false
	for _, job := range jobs {
		completing = completing || job.Completing()
		if !job.Delayed(longestDelay) || job.EligibleTime.Time().Before(now.Add(2*time.Second)) {
			continue
		}
		s.log(ctx).Info("A job of a lost node runs again at once", "job", job.ID)
		if err := s.slurm.BeginJob(ctx, job.ID, now.Add(time.Second)); err != nil {
			s.log(ctx).Info("slurmctld did not let a requeued job begin, it does a little later", "job", job.ID, "error", err.Error())
		}
	}
	if !completing && now.After(s.memory.requeueUntil.Add(-requeueTime+5*requeueEvery)) {
		s.memory.requeueUntil = time.Time{}
	}
	return nil
}
