-- sbatch with --export=NAME=VALUE, --export=NONE or --get-user-env, and scrontab, ask slurmd for what a login would set, which
-- slurmd can find out as root only: it runs the job without (24.11) or holds it for ever (26.05: "user env retrieval failed"). Here
-- every user's login sets the same.
local login = {
  HOME = "/home/user", USER = "user", LOGNAME = "user", SHELL = "/bin/sh", LANG = "C.UTF-8",
  PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}

function slurm_job_submit(job, partitions, uid)
  if job.script ~= nil and job.environment["SLURM_GET_USER_ENV"] == "1" then
    for name, value in pairs(login) do
      if job.environment[name] == nil then
        job.environment[name] = value
      end
    end
    job.environment["SLURM_GET_USER_ENV"] = "0"
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
