-- sbatch with --export=NAME=VALUE, --export=NONE or --get-user-env, and scrontab, ask slurmd for what a login would set, which
-- slurmd can find out as root only: it runs the job without (24.11) or holds it for ever (26.05: "user env retrieval failed"). Here
-- every user's login sets the same.
local login = {
  HOME = "/home/user", USER = "user", LOGNAME = "user", SHELL = "/bin/sh", LANG = "C.UTF-8",
  PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}

-- A script that reads PBS_NODEFILE gets it, as from PBS: a file with the name of a node in each line, as often as it has tasks. Slurm has
-- nothing that would make it for the batch script alone.
local shells = { sh = true, bash = true, dash = true, ksh = true }
local nodefile = [[
export PBS_NODEFILE="${TMPDIR:-/tmp}/nodefile.$SLURM_JOB_ID"; ( ]] ..
  [[all=; IFS=,; for part in $SLURM_TASKS_PER_NODE; do times=1; case $part in *x*) times=${part#*x}; times=${times%?};; esac; ]] ..
  [[while [ $times -gt 0 ]; do all="$all ${part%%[!0-9]*}"; times=$((times - 1)); done; done; IFS=' '; set -- $all; ]] ..
  [[scontrol show hostnames | while read -r node; do i=0; while [ $i -lt $1 ]; do echo "$node"; i=$((i + 1)); done; shift; done ]] ..
  [[) >"$PBS_NODEFILE"]] .. "\n"

local function with_nodefile(script)
  local first, rest = script:match("^(#![^\n]*\n)(.*)$")
  if first == nil or not rest:find("PBS_NODEFILE", 1, true) then
    return nil
  end
  for word in first:gmatch("[/ ](%l+)") do
    if shells[word] then
      return first .. nodefile .. rest
    end
  end
  return nil
end

function slurm_job_submit(job, partitions, uid)
  local changed = job.script ~= nil and with_nodefile(job.script)
  if changed then
    job.script = changed
  end
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
