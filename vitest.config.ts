import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Two cores: more workers than cores only make the real servers in the tests slower.
    maxWorkers: 2,
    // Generous: scenario tests start the program several times, and CI machines are busy.
    testTimeout: 60_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 10_000 } },
    unstubEnvs: true,
  },
})
