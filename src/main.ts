#!/usr/bin/env node
// First of all, before anything is imported that an older Node can't even read.
const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  console.error(
    `ToyCoder needs Node.js 24 or newer and was started with ${process.versions.node}. Start it with \`npm start\`, which uses the Node.js in node_modules, or install a newer one.`,
  )
  process.exit(2)
}
const { run } = await import('./commandLine.ts')
await run(process.argv.slice(2))
