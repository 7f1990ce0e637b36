#!/usr/bin/env node
// Plain JavaScript on purpose: it has to run on a Node that is too old for the rest, to say so. Under `npx toycoder`, `node`
// is the one that package.json pins.
const major = Number(process.versions.node.split('.')[0])
if (major >= 24) {
  await import('../src/main.ts')
} else {
  console.error(`ToyCoder needs Node 24 or newer; this is Node ${process.versions.node}.
Run it in its own folder with \`npm start\` (the right Node comes along), or install Node 24 from https://nodejs.org/.`)
  process.exitCode = 2
}
