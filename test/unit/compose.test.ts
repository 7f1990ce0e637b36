import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'

const file = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8')

it('compose.yml starts three instances on one PostgreSQL, with settings that a start takes', () => {
  const { services } = parse(file('compose.yml'))
  const { environment, deploy, ports, volumes } = services.toycoder
  expect(deploy.replicas).toBe(3)
  expect(ports).toEqual(['127.0.0.1:3000-3002:3000'])
  const env = { ...environment, STORE_URL: environment.STORE_URL.replace(/\$\{\w+:-(\w+)\}/, '$1') }
  const config = loadConfig({ env, cwd: '/app', readFile: () => null })
  const { POSTGRES_USER, POSTGRES_DB } = services.postgres.environment
  const url = `postgres://${POSTGRES_USER}:toycoder@postgres/${POSTGRES_DB}`
  expect(config.store).toEqual({ kind: 'postgres', url })
  expect(config.engine).toEqual({ kind: 'postgres', url })
  // All of them work on the same files, in the folder that the image makes.
  expect(volumes[0]).toMatch(/:\/app\/workspace$/)
  expect(file('Dockerfile')).toContain('mkdir data workspace')
})
