// All words of the console. What depends on values is a function of them. Each is an export of its own,
// so that the bundle does not hold their names.
const plural = (count, one, many) => (String(count) === "1" ? one : many);
const jobs = (count) => `${count} ${plural(count, "job", "jobs")}`;
const into = (to) => (to ? ` into ${to}` : "");

export const acts = "Actions";
export const again = "Try again";
export const ago = (time) => `${time} ago`;
export const anonymous = "anonymous";
export const cancel = "Cancel";
export const change = "change";
export const close = "Close";
export const copied = "Copied";
export const copyLine = (name) => `Copy the line: ${name}`;
export const denseTitle = "Dense rows (d)";
export const hiddenCharacter = "a character that cannot be seen";
export const inside = "in";
export const loading = "Loading…";
export const logout = "sign out";
export const look = "Look";
export const next = "Next";
export const no = "no";
export const noLimit = "no limit";
export const none = "none";
export const notReady = "The broker is not ready.";
export const notReadyShort = "not ready";
export const of = (act, name) => `${act}: ${name}`;
export const ofLimit = (limit) => `of ${limit}`;
export const pages = "Pages";
export const perSecond = (rate) => `${rate} /s`;
export const ready = "ready";
export const request = (id) => `request ${id}`;
export const roleWithBodies = (role) => `${role} + bodies`;
export const save = "Save";
export const share = "share";
export const shell = "shell";
export const skip = "Skip to the page";
export const stop = "Stop";
export const themeTitle = "Light or dark";
export const typeCount = (count) => `Type ${count} to go on`;
export const up = (time) => `up ${time}`;
export const yes = "yes";
export const mix = (count, state) => `${count} ${state}`;
export const client = ({ client_id: name, address, connection, id }) => `${name || `#${connection ?? id ?? "?"}`}${address ? `, ${address}` : ""}`;
export const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const nav = {
  overview: "Overview",
  tubes: "Tubes",
  running: "Running",
  failures: "Failures",
  search: "Search",
  connections: "Connections",
  schedules: "Schedules",
  server: "Server",
  audit: "Audit",
};
export const roles = { viewer: "viewer", operator: "operator", admin: "admin" };
export const states = { ready: "ready", reserved: "reserved", delayed: "delayed", buried: "buried" };
export const statesUpper = { ready: "Ready", reserved: "Reserved", delayed: "Delayed", buried: "Buried" };
export const classes = { high: "high", normal: "normal", low: "low" };
export const rates = {
  put_per_second: "put",
  completed_per_second: "completed",
  deleted_per_second: "deleted",
  timed_out_per_second: "timed out",
  failed_per_second: "failed",
};
export const counters = {
  put_total: "put",
  completed_total: "completed",
  deleted_total: "deleted",
  failed_total: "failed",
  timed_out_total: "timed out",
  buried_total: "buried",
  retried_total: "tried again",
  dead_total: "dead",
  expired_total: "expired",
};
export const refusals = {
  maxqueue: "jobs for a full tube",
  draining: "jobs while the broker drains",
  memory: "jobs above the memory limit",
  tube_memory: "jobs beyond the max_bytes of their tube",
  group_jobs: "jobs for a full group",
  group_missing: "jobs without a group, where each must have one",
  tubes: "tubes above the limit",
  journal: "changes while the journal failed or was full",
  disk: "jobs while the disk has less free than limits.free_disk",
  job_size: "jobs larger than max_job_size",
  rights: "commands that the client may not use",
  idle_timeout: "connections that were silent for too long",
  connections: "connections above the limit",
  connections_per_address: "connections above the limit of an address",
  descriptors: "connections, as no file descriptor was left",
  handshake_timeout: "connections that did not begin in time",
  output: "connections that did not read their answers",
  tls: "connections with bad TLS, or without it",
  http: "HTTP at a port of clients",
};
export const jobOptional = { attempts: "attempts", expires: "expires", cause: "cause", origin: "origin" };
export const putNumbers = { priority: "Priority, 0 is first", delay: "Delay, e.g. 5m", ttr: "Time to run" };
export const liveStates = {
  live: () => "live",
  paused: (age) => (age ? `paused, ${age} old` : "paused"),
  lost: (age) => `lost, ${age} old`,
};
export const scheduleNumbers = { runs: "runs", skipped: "skipped", missed: "missed" };

export const helpTitle = "Keyboard";
export const helpButton = "Keyboard (?)";
export const helpRows = [[["?"], "this list"],
  [["/"], "filter"],
  [["g", "then o t r f s c v a"], "overview, tubes, running, failures, search, connections, server, audit"],
  [["j", "k"], "next and previous row"],
  [["x"], "select the row"],
  [["Enter"], "open the row"],
  [["p"], "pause or resume live updates"],
  [["d"], "dense rows"],
  [["Esc"], "close"]];

export const liveConnecting = "connecting";
export const livePause = "Pause live updates (p)";
export const liveResume = "Resume live updates (p)";
export const liveTryNow = "Try now";
export const liveLostTitle = "The connection to the broker is lost.";
export const liveLostText = (age, wait) => `${age ? `What is shown is ${age} old. ` : ""}${wait > 0 ? `Next try in ${wait} s.` : "Trying now."}`;

export const loginToken = "Token";
export const loginButton = "Sign in";
export const loginProblem = (problem) => problem.detail;
export const loginBefore = "A token is made by ";
export const loginAfter = " NAME ROLE; its line goes into console.users of the configuration.";

export const missingTitle = "There is no such page";
export const missingText = "The address names no page of the console.";

export const problemUnreachable = "The broker cannot be reached.";
export const problemUnreadable = (status) => `The answer cannot be read (status ${status}). Is a proxy in between?`;

export const journalFailed = "failed";
export const journalFull = "full";
export const journalHealthy = "healthy";
export const journalSync = "sync";
export const journalDisk = "on disk";
export const journalLive = "still needed";
export const journalWaiting = "waiting for the disk";
export const journalSyncText = (mode, p99) => `${mode}, p99 ${p99}`;
export const journalDiskText = (size, segments) => `${size} in ${segments} ${plural(segments, "segment", "segments")}`;
export const journalMemory = "Jobs are kept in memory only: data_dir is not set.";
export const journalFailedTitle = "The journal failed.";
export const journalFailedText = "The broker refuses changes until it can write again. The log says why.";
export const journalFullTitle = "The journal’s disk is full.";
export const journalFullText = "New jobs are refused until there is space; deletions are taken.";

export const drainTitle = "The broker drains:";
export const drainText = (running) => `it takes no new jobs, ${running} ${plural(running, "is", "are")} still reserved.`;
export const drainUndo = "Take jobs again";
export const drainButton = "Drain";
export const drainDone = "The broker drains";
export const drainUndone = "The broker takes jobs again";
export const drainAskTitle = "Stop taking new jobs?";
export const drainAskText = (running) => `Producers are refused. Workers go on; ${jobs(running)} ${plural(running, "is", "are")} reserved now.`;

export const overviewBusiest = "Busiest tubes";
export const overviewAll = (count) => `All ${count}`;
export const overviewFlow = (into, out) => `${into} in · ${out} out`;
export const overviewMost = (count) => `${count} of them in`;
export const overviewNobody = "nothing is running";
export const overviewDelta = (delta, range) => `${delta > 0 ? "+" : delta < 0 ? "−" : "±"}${Math.abs(delta)} in ${range === "1h" ? "the last hour" : "30 days"}`;

export const factsOldest = "Oldest ready job";
export const factsWorkers = "Workers";
export const factsWait = (count) => `${count} ${plural(count, "waits", "wait")}`;
export const factsConnections = "Connections";
export const factsMemory = "Memory of jobs";
export const factsOnDisk = (size) => `${size} of bodies on disk`;
export const factsJournal = "Journal, sync p99";
export const factsInMemory = "memory only";
export const factsLag = "Loop lag p99";

export const attentionTitle = "Needs attention";
export const attentionNone = "Nothing does.";
export const attentionMore = (count) => `and ${count} more`;
export const attentionSince = (time) => `for ${time}`;

export const chartJobs = "Jobs by state";
export const chartRates = "Jobs a second";
export const chartRange = "Range";
export const chartHour = "1 h";
export const chartMonth = "30 d";
export const chartLog = "log";
export const chartLogTitle = "Logarithmic scale";
export const chartNone = (name) => `${name}: no data yet.`;
export const chartUnknown = (name) => `${name}: no data.`;
export const chartLine = (name, low, high, last) => `${name}: ${low} to ${high}, at last ${last}.`;

export const operationTitle = "Operations";
export const operationStopped = "Stopped";
export const operationProgress = (done, count) => `${done} of ${count}`;
export const operationStates = {
  counting: "counting",
  counted: "waits for consent",
  running: "running",
  done: "done",
  stopped: "stopped",
  failed: "failed",
  expired: "expired",
};
export const operationText = ({ action, count, filter, to }) => `${action} ${count ?? "…"} ${(filter?.state ?? []).join(", ")} ${filter?.tube ?? filter?.tube_match ?? filter?.tube_base64 ?? ""}${to ? ` → ${to}` : ""}`;
export const operationEnded = ({ action, state, done, count }) => (state === "done" ? `${bulkDone[action](done)}` : `${action} ${state}: ${done} of ${jobs(count)} done`);

export const bulkCounting = "Counting…";
export const bulkNoneTitle = "No job matches";
export const bulkNone = "There is nothing to do: no job is in this state or matches the filter.";
export const bulkButtons = {
  kick: "Kick",
  bury: "Bury",
  release: "Release…",
  move: "Move…",
  copy: "Copy…",
  delete: "Delete…",
};
export const bulkUpTo = (id) => `Up to job ${id}; jobs that come later stay.`;
export const bulkPartly = (done, left, why) => `${done}; ${left} not: ${why}`;
export const bulkTitle = {
  kick: (count) => `Kick ${jobs(count)}?`,
  bury: (count) => `Bury ${jobs(count)}?`,
  release: (count) => `Take ${jobs(count)} from their workers?`,
  move: (count, to) => `Move ${jobs(count)}${into(to)}?`,
  copy: (count, to) => `Copy ${jobs(count)}${into(to)}?`,
  delete: (count) => `Delete ${jobs(count)} for good?`,
};
export const bulkWarning = {
  kick: "",
  bury: "",
  release: "The workers hear that the time ran out; the jobs become ready.",
  move: "",
  copy: "The originals stay.",
  delete: "Nobody can bring them back.",
};
export const bulkOk = {
  kick: (count) => `Kick ${jobs(count)}`,
  bury: (count) => `Bury ${jobs(count)}`,
  release: (count) => `Release ${jobs(count)}`,
  move: (count) => `Move ${jobs(count)}`,
  copy: (count) => `Copy ${jobs(count)}`,
  delete: (count) => `Delete ${jobs(count)}`,
};
export const bulkDone = {
  kick: (count) => `Kicked ${jobs(count)}`,
  bury: (count) => `Buried ${jobs(count)}`,
  release: (count) => `Released ${jobs(count)}`,
  move: (count, to) => `Moved ${jobs(count)}${into(to)}`,
  copy: (count, to) => `Copied ${jobs(count)}${into(to)}`,
  delete: (count) => `Deleted ${jobs(count)}`,
};
export const bulkTargetTitle = { move: "Move to which tube?", copy: "Copy to which tube?" };
export const bulkTargetText = {
  move: "Jobs keep id, body, counters and state.",
  copy: "Copies get new ids and begin as new jobs. Empty: into their own tubes.",
};
export const bulkTarget = { move: "Tube", copy: "Tube (optional)" };

export const putTitle = "Put a job";
export const putButton = "Put";
export const putInto = "Put a job into";
export const putTube = "Tube";
export const putBody = "Body";
export const putUnique = "Unique key: an unfinished job with it is joined";
export const putOk = "Put the job";
export const putDone = (id, tube) => `Job ${id} is in ${tube}`;

export const copyTitle = (id) => `Copy job ${id}`;
export const copyText = "Fields that stay empty are as in the job.";
export const copyTo = "Tube";
export const copyOk = "Copy the job";
export const copyDone = (id, tube) => `The copy is job ${id} in ${tube}`;

export const moveTitle = (id) => `Move job ${id}`;
export const moveText = "The job keeps its id, body, counters and state.";
export const moveTo = "To tube";
export const moveOk = "Move the job";
export const moveDone = (id, tube) => `Job ${id} is in ${tube} now`;

export const createTitle = "Create a tube";
export const createText = "The tube stays when it is empty. Others come with their first job.";
export const createName = "Name";
export const createOk = "Create";
export const createDone = (name) => `Tube ${name} is there`;

export const tubesMatch = "Name, e.g. mail* — press /";
export const tubesOnly = "Which tubes";
export const tubesChoices = [["", "All"], ["jobs", "With jobs"], ["idle", "Idle"], ["buried", "Buried"], ["paused", "Paused"],
  ["unserved", "No workers"], ["falls_behind", "Falling behind"], ["silent_workers", "Silent workers"], ["held_back", "Held back"]];
export const tubesNone = "No tubes yet";
export const tubesNoneText = "The first job makes its tube. Put one from a shell:";
export const tubesNoMatch = "No tube matches";
export const tubesNoMatchText = "Change the name or choose all tubes.";
export const tubesShown = (shown, total) => `${shown} of ${total}`;

export const tubeTube = "Tube";
export const tubeJobs = "Jobs";
export const tubeIn = "in /s";
export const tubeOut = "out /s";
export const tubeInUpper = "In /s";
export const tubeOutUpper = "Out /s";
export const tubeOldest = "oldest ready";
export const tubeOldestUpper = "Oldest ready";
export const tubeWorkers = "workers";
export const tubeWorkersUpper = "Workers";
export const tubeWorkerCount = (count) => `${count} ${plural(count, "worker", "workers")}`;
export const tubeNoWorkers = "no workers";
export const tubeFlow = "jobs";
export const tubeRunning = "Running now";
export const tubeWatching = "watching";
export const tubeWatchers = (watching, using, waiting) => `${watching}, ${waiting} waiting; ${using} using`;
export const tubeRetrying = "waiting for a retry";
export const groups = "Groups";
export const groupName = "Group";
export const groupNone = "without a group";
export const groupNumbers = { ready: "Ready", reserved: "Reserved", delayed: "Delayed", handed_out: "Handed out", oldest: "Oldest" };
export const groupHeldBack = { failed: "a failed job holds it", fifo: "waits for its first job", running: "as many run as may", rate: "waits for its rate" };
export const groupsNone = "No groups";
export const groupsNoneText = "No unfinished job of this tube is in a group.";
export const tubeHeldBack = "held back by";
export const tubePaused = (left) => `paused ${left}`;
export const tubePausedLong = "paused until resumed";
export const tubePause = "Pause";
export const tubeResume = "Resume";
export const tubeResumed = (name) => `${name} goes on`;
export const tubePausedFor = (name, seconds) => (seconds ? `${name} is paused for ${seconds} s` : `${name} is paused until it is resumed`);
export const tubePauseTitle = (name) => `Pause ${name}?`;
export const tubePauseText = "Workers get no job of this tube meanwhile. Puts and running jobs go on.";
export const tubePauseSeconds = "Seconds, or 5m, 2h";
export const tubePauses = [[300, "5 min"], [3600, "1 h"], [86400, "1 d"], [4294967295, "until resumed"]];
export const tubeKickAll = "Kick all buried";
export const tubeKickAsk = (count, name) => `Kick ${jobs(count)} of ${name}?`;
export const tubeKickText = "They become ready, and workers run them again. Dead jobs go to the tubes that they came from.";
export const tubeKicked = (count, name) => `Kicked ${jobs(count)} of ${name}`;
export const tubeClear = "Clear…";
export const tubeClearWhere = (name) => `All ready, delayed and buried jobs of ${name}; reserved ones stay.`;
export const tubeLimit = "max queue";
export const tubeLimitButton = "Max queue…";
export const tubeLimitTitle = (name) => `Limit the queue of ${name}`;
export const tubeLimitText = "Ready jobs that the tube takes of each priority class. 0: no limit.";
export const tubeLimitDefault = "As the configuration says";
export const tubeLimited = (name) => `The limit of ${name} is set`;
export const tubeSources = { none: "", config: "from the configuration", admin: "set by an operator" };
export const tubeDrop = "Drop";
export const tubeDropTitle = (name) => `Drop tube ${name}?`;
export const tubeDropText = "Only a tube without jobs and clients can be dropped. Its settings go with it.";
export const tubeMissing = "There is no such tube";
export const tubeMissingText = "It went with its last job and client, or is not yours to see. Its next job brings it back.";
export const tubeDropped = (name) => `Tube ${name} is gone`;

export const jobsJob = "Job";
export const jobsTube = "Tube";
export const jobsState = "State";
export const jobsAge = "Age";
export const jobsPriority = "Priority";
export const jobsReserves = "Reserves";
export const jobsSize = "Size";
export const jobsBody = "Body";
export const jobsDue = "Due in";
export const jobsTtrLeft = "Time left";
export const jobsNoEnd = "no time limit";
export const jobsLeft = (time) => `${time} left`;
export const jobsSelect = (id) => `Select job ${id}`;
export const jobsSelectPage = "Select this page";
export const jobsSelectWord = "select";
export const jobsBulk = "Act on the selected jobs";
export const jobsSelected = (count) => `${count} selected`;
export const jobsAllSelected = "All that match are selected";
export const jobsAllCountSelected = (count) => `All ${count} that match are selected`;
export const jobsSelectAll = "Select all that match";
export const jobsSelectAllCount = (count) => `Select all ${count} that match`;
export const jobsSelectNone = "None";
export const jobsShown = (shown, count, scanned) => `${shown} shown${count === null ? "" : ` of ${count}`} · looked at ${jobs(scanned)}`;
export const jobsFirst = "First";
export const jobsOrder = "Order";
export const jobsOrders = [["id", "By id"], ["next", "Next out first"]];
export const jobsOfPage = "Those selected on this page.";
export const jobsNone = (state) => `No ${state} jobs`;
export const jobsNoMatch = (state) => `No ${state} job matches`;
export const jobsNoMatchText = (count) => `${jobs(count)} in this state, none with what the filter asks for.`;
export const jobsNoneText = {
  ready: "Nothing waits for a worker.",
  reserved: "No worker holds a job of this tube.",
  delayed: "No job waits for its time.",
  buried: "No job is set aside.",
};
export const jobsWhere = (state, tube, filter) => `The ${state} jobs of ${tube}${filter ? `, ${filter}` : ""}.`;

export const filterText = "Text in the body — press /";
export const filterMinReserves = "reserves ≥";
export const filterApply = "Apply";
export const filterClear = "Clear the filter";
export const filterMore = "Condition";
export const filterRemove = (text) => `Remove: ${text}`;
export const filterJson = (path, op, value) => (value ? `${path} ${{ eq: "=", ne: "≠", lt: "<", gt: ">" }[op || "eq"] ?? op} ${value}` : `has ${path}`);
export const filterLabels = {
  text: "Text in the body",
  min_reserves: "Reserves, at least",
  max_reserves: "Reserves, at most",
  min_age_seconds: "Age, at least, e.g. 5m",
  max_age_seconds: "Age, at most, e.g. 2h",
  min_priority: "Priority, from",
  max_priority: "Priority, to",
  id_from: "Id, from",
  id_to: "Id, to",
  unique: "Unique key",
  group: "Group",
  holder: "Held by connection",
  json_path: "JSON path, e.g. $.a[0]",
  json_op: "JSON comparison",
  json_value: "JSON value",
};
export const filterChips = {
  text: (value) => `“${value}”`,
  min_reserves: (value) => `reserves ≥ ${value}`,
  max_reserves: (value) => `reserves ≤ ${value}`,
  min_age_seconds: (value) => `age ≥ ${value}`,
  max_age_seconds: (value) => `age ≤ ${value}`,
  min_priority: (value) => `priority ≥ ${value}`,
  max_priority: (value) => `priority ≤ ${value}`,
  id_from: (value) => `id ≥ ${value}`,
  id_to: (value) => `id ≤ ${value}`,
  unique: (value) => `key ${value}`,
  group: (value) => (value ? `group ${value}` : groupNone),
  holder: (value) => `held by #${value}`,
};

export const jobJob = "Job";
export const jobTitle = (id) => `Job ${id}`;
export const jobGone = (id) => `Job ${id} is not there: it ended, or its tube is not yours to see.`;
export const jobRecord = "Record";
export const jobPast = "What happened to it";
export const jobHolder = "Held by";
export const jobTube = "tube";
export const jobPut = "put";
export const jobPriority = "priority";
export const jobTtr = "time to run";
export const jobDelay = "delay";
export const jobDue = "due";
export const jobDueIn = (time) => `in ${time}`;
export const jobUnique = "unique key";
export const jobWaiters = "clients waiting";
export const jobOnFailure = "on failure";
export const jobFailures = { bury: "buried", remove: "removed", move: "moved to the dead tube" };
export const jobDurable = "kept on disk";
export const jobAttempts = (count, most) => (most ? `${count} of ${most}` : String(count));
export const jobCounts = {
  reserves: "reserved",
  timeouts: "timed out",
  releases: "released",
  buries: "buried",
  kicks: "kicked",
  lost_tries: "lost tries",
};
export const jobKick = "Kick";
export const jobRelease = "Release…";
export const jobBury = "Bury";
export const jobAgain = "Put again…";
export const jobCopy = "Copy…";
export const jobMove = "Move…";
export const jobHome = "Send home";
export const jobDelete = "Delete…";
export const jobDone = {
  kick: (id) => `Job ${id} is kicked`,
  bury: (id) => `Job ${id} is buried`,
  release: (id) => `Job ${id} is released`,
};
export const jobDeleteTitle = (id) => `Delete job ${id} for good?`;
export const jobDeleteOk = "Delete the job";
export const jobDeleted = (id) => `Job ${id} is deleted`;
export const jobDeleteText = (state, tube, size, holder) => `It is ${state} in ${tube}, ${size}. ${holder ? `${holder} holds it and hears that it is gone. ` : ""}Nobody can bring it back.`;
export const jobTake = { release: "Release the job", bury: "Bury the job" };
export const jobTakeTitle = {
  release: (id) => `Take job ${id} from its worker?`,
  bury: (id) => `Bury job ${id}, which a worker holds?`,
};
export const jobTakeText = (holder) => `${holder} holds it, and hears that its time is over. What it did may be done twice.`;

export const bodyTitle = "Body";
export const bodyAs = "Show as";
export const bodyCopy = "Copy";
export const bodyDownload = "Download";
export const bodyDetected = (as) => as;
export const bodyMore = "Show more";
export const bodyTruncated = (shown, size) => `The first ${shown} of ${size}`;
export const bodyError = (as, error) => `Not shown as ${as}: ${error}`;
export const bodyForbidden = "Bodies are hidden";
export const bodyForbiddenText = (user) => `${user ? `User ${user}` : "Your role"} is without the right “bodies”. console.users grants it: ROLE+bodies.`;

export const searchText = "Text in the body, or a job’s id";
export const searchId = "A job’s id";
export const searchTubes = "tubes, e.g. mail*";
export const searchTubesLabel = "Tubes";
export const searchEverywhere = "in all tubes";
export const searchOpen = (id) => `Open job ${id}`;
export const searchInTubes = "tubes";
export const searchProgress = (scanned, total, found) => `looked at ${scanned} of ${jobs(total)}, ${found} found`;
export const searchStopped = "Stopped.";
export const searchNone = "No job matches";
export const searchNoneText = "Other states or tubes may have it.";
export const searchBegin = "Search all jobs";
export const searchBeginText = "By text in the body, by tube, by state.";
export const searchBeginWithoutBodies = "By id, tube and state. Text in bodies needs the right “bodies”.";
export const searchWhere = (states, tubes, filter) => `The ${states} jobs of ${tubes ? `tubes like ${tubes}` : "all tubes"}${filter ? `, ${filter}` : ""}.`;

export const connectionsAddress = "address";
export const connectionsProtocol = "protocol";
export const connectionsRole = "role";
export const connectionsTakes = "takes from";
export const connectionsRuns = "runs";
export const connectionsDoes = "does";
export const connectionsSince = "connected";
export const connectionsQuiet = "idle";
export const connectionsDisconnect = "Disconnect";
export const connectionsByAddress = "Address — press /";
export const connectionsByTube = "Tube";
export const connectionsColumns = ["Client", "Address", "Protocol", "Role", "Takes from", "Runs", "Does", "Connected", "Idle"];
export const connectionsNumbers = ["Connected", "Idle"];
export const connectionsChoices = [["", "All"], ["worker", "Workers"], ["producer", "Producers"], ["waiting", "Waiting"]];
export const connectionsRoles = { worker: "worker", producer: "producer", waiting: "waiting" };
export const connectionsSummary = (open, workers, waiting) => `${open} open, ${workers} ${plural(workers, "worker", "workers")}, ${waiting} ${plural(waiting, "waits", "wait")}`;
export const connectionsSilent = "has sent nothing";
export const connectionsWaits = "waits";
export const connectionsBusy = "busy";
export const connectionsPuts = (tube) => `puts into ${tube}`;
export const connectionsIdle = "idle";
export const connectionsJobs = (count) => jobs(count);
export const connectionsAll = (count) => `all ${count}`;
export const connectionsMore = (count) => `and ${count} more`;
export const connectionsCloseTitle = (name) => `Disconnect ${name}?`;
export const connectionsCloseText = (held) => `The connection is closed; ${jobs(held)} that it holds ${plural(held, "goes", "go")} back.`;
export const connectionsClosed = (name) => `${name} is disconnected`;
export const connectionsNone = "Nobody is connected";
export const connectionsNoneText = "No connection matches, or no client came yet.";
export const connectionsForbidden = "Connections are for those who see all tubes";
export const connectionsForbiddenText = "Your user sees only some tubes.";
export const connectionsGone = "This connection is closed";
export const connectionsGoneText = "Its jobs went back to their tubes.";

export const serverBroker = "Broker";
export const serverJournal = "Journal";
export const serverLimits = "Limits";
export const serverNoRefusals = "Nothing was refused.";
export const serverRefused = "Refused since the start";
export const serverVersion = "version";
export const serverName = "name";
export const serverStarted = "started";
export const serverListens = "listens on";
export const serverAdmin = "console on";
export const serverTraffic = "received, sent";
export const serverLoop = "CPU of the loop";
export const serverLoopText = (share) => `${share} of one`;
export const serverRouters = "Routers";
export const serverRouterColumns = ["Router", "Clients", "CPU a second", "Accepted"];
export const serverRouterGone = "not running";
export const serverRestarts = (times) => `${times} restarted`;
export const serverResident = "resident memory";
export const serverBodies = "bodies";
export const serverBodiesText = (memory, disk) => `${memory} in memory, ${disk} on disk alone`;
export const serverProtocols = "protocols";
export const serverProtocolsText = (beanstalk, gearman, silent) => `${beanstalk} beanstalk, ${gearman} Gearman, ${silent} undecided`;
export const serverStalled = "stalled connections";
export const serverAccepted = "accepted since the start";
export const serverTubes = "tubes";
export const serverHeld = "held for a transfer";
export const serverLogLevel = "log level";
export const serverLevelDone = (level) => `The log level is ${level}`;
export const serverReason = "Reason";
export const serverTimes = "Times";
export const serverMeaning = "Meaning";

export const transfersHeading = "Transfers";
export const transfersColumns = ["Name", "Moved", "Held"];
export const transferEnds = { commit: "Commit", drop: "Drop", "": "Forget" };
export const transferTexts = {
  commit: "Its jobs appear in their tubes.",
  drop: "Its jobs are deleted.",
  "": "What it moved stays.",
};
export const replicaHeading = "Replication";
export const replicaRole = { active: "active", standby: "standby", suspended: "suspended" };
export const replicaTitle = (replica) => `epoch ${replica.epoch}, leader ${replica.leader?.name ?? "unknown"}`;
export const replicaEpoch = "epoch";
export const replicaLeader = "leader";
export const replicaBehind = "batches behind";
export const replicaLease = "lease left";
export const replicaTakeovers = "takeovers";
export const replicaStepDown = "Step down";
export const replicaDone = "The broker steps down";
export const replicaAskTitle = "Step down?";
export const replicaAskText = "Another broker takes over. Clients are disconnected and connect there.";

export const policyHeading = "Policy";
export const policyAll = "All keys";
export const policyFewer = "Only what is set";
export const policyNone = "All keys have their defaults.";
export const policyDefault = "As the configuration says";
export const policyText = "The value holds over restarts, above the configuration file.";
export const policyTitle = (key, tube) => `Set ${key} of ${tube}`;
export const policyDone = (key, tube) => `${key} of ${tube} is set`;
export const policySource = (source) => ({ default: "default", admin: "set by an operator" }[source] ?? `from ${source}`);

export const schedulesColumns = ["Schedule", "Tube", "When", "Next", "Last", "Runs", "Skipped", "Missed"];
export const schedulesNumbers = ["Runs", "Skipped", "Missed"];
export const schedulesPlan = "when";
export const schedulesNext = "next";
export const schedulesLast = "last";
export const schedulesOff = "off";
export const schedulesRun = "Run now";
export const schedulesSwitchOff = "Switch off";
export const schedulesSwitchOn = "Switch on";
export const schedulesRan = (name, id) => `${name} put job ${id}`;
export const schedulesSet = (name, on) => `${name} is ${on ? "on" : "off"}`;
export const schedulesNone = "No schedules";
export const schedulesNoneText = "Schedules are in the configuration, under schedules.";

export const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
export const planEvery = (time) => `every ${time}`;
export const planMinutes = (step) => (step === 1 ? "every minute" : `every ${step} minutes`);
export const planHours = (minute) => `every hour at :${minute}`;
export const planBetween = (from, to) => ` from ${from} to ${to}`;
export const planAt = (times) => `at ${times}`;
export const planDaily = "every day";
export const planDays = (days) => `on day ${days}`;

export const runningWorker = "worker";
export const runningProgress = "progress";
export const runningWorkerUpper = "Worker";
export const runningSince = "Since";
export const runningAttempts = "Attempts";
export const runningColumns = ["Tube", "Job", runningWorkerUpper, "Address", "Progress", runningAttempts, runningSince, "Time left"];
export const runningNumbers = [runningAttempts, runningSince, "Time left"];
export const runningIdle = (count) => `${count} without a job`;
export const runningIdleFor = (time) => `idle for ${time}`;
export const runningNone = "No worker holds a job.";
export const runningSummary = (jobCount, workers, waiting) => `${jobs(jobCount)}, ${workers} ${plural(workers, "worker", "workers")}, ${waiting} ${plural(waiting, "waits", "wait")}`;

export const causes = {
  exception: "exception",
  failed: "failed",
  timeout: "timed out",
  lost: "worker lost",
  released: "released too often",
  buried: "buried",
  expired: "expired",
  damaged: "body damaged",
  none: "not known",
};
export const failuresSince = "Failed within";
export const failuresChoices = [["1h", "1 h"], ["24h", "24 h"], ["7d", "7 d"], ["", "All"]];
export const failuresAnyCause = "Any cause";
export const failuresCause = "cause";
export const failuresCount = "failed";
export const failuresFirst = "first";
export const failuresLast = "last";
export const failuresAt = "failed";
export const failuresFrom = "from";
export const failuresShow = "Show";
export const failuresRetry = (count) => `Retry ${count}…`;
export const failuresDelete = (count) => `Delete ${count}…`;
export const failuresWhere = (cause, tube, origin) => `The failures of ${tube}${origin ? ` from ${origin}` : ""} with the cause “${cause}”.`;
export const failuresGroups = "By tube and cause";
export const failuresJobs = "Newest first";
export const failuresGroupColumns = ["Tube", "Cause", "Jobs", "When", "First", "Last", ""];
export const failuresGroupNumbers = ["Jobs", "First", "Last"];
export const failuresColumns = ["Failed", "Job", "Tube", "Cause", "What the worker said", "Attempts", "Origin"];
export const failuresNumbers = ["Attempts"];
export const failuresNone = "Nothing failed";
export const failuresNoneText = "No job is buried or dead, or none that the filter asks for.";

export const auditAt = "at";
export const auditFrom = "from";
export const auditAct = "act";
export const auditMatch = "User, act or tube — press /";
export const auditColumns = ["At", "Who", "From", "Act", "Tube", "What", "Result"];
export const auditJobs = (count) => jobs(count);
export const auditTimes = (count) => `${count} times`;
export const auditShown = (count) => `${count} shown`;
export const auditNote = "the last 1\u00a0000 acts of people and as many of clients; all of them are in the log";
export const auditNone = "No acts yet";
export const auditNoneText = "What users do in the console, the API and gearstalkctl shows here.";
export const auditNoMatch = "No act matches";
export const auditForbidden = "The audit is for operators";
export const auditForbiddenText = "It needs the role operator and all tubes.";
