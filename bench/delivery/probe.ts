/** Loaded before a system under test: answers each message of the benchmark with the CPU time of the process so far. */
process.on('message', (message) => {
  if (message !== 'cpu') return
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMs: (user + system) / 1_000 })
})
// The benchmark ends this process; the channel alone must not keep it.
process.channel?.unref()
process.on('disconnect', () => process.exit())
