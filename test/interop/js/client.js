// client.js KIND PORT KEY: one foreign lock client of Node.js, driven by lines
// on standard input. What they mean is said in ../doc.go.

import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import * as redlock from './redlock.js'
import * as semaphore from './semaphore.js'

const [kind, port, key] = process.argv.slice(2)
const redis = new Redis(Number(port), '127.0.0.1')
const client = { redlock, semaphore }[kind].open(redis, key)

const answers = {
  async lock(ms) {
    await client.lock(Number(ms))
    return 'locked'
  },
  async try(ms) {
    return (await client.tryLock(Number(ms))) ? 'locked' : 'held'
  },
  async unlock() {
    return (await client.unlock()) ? 'unlocked' : 'not held'
  },
  async count(n, counter, marker) {
    let switches = 0
    let overlaps = 0
    for (let i = 0; i < Number(n); i++) {
      await client.lock(20000)
      const made = make(marker)
      if (!made) overlaps++
      const [number, last] = readFileSync(counter, 'utf8').split(' ')
      if (last !== kind) switches++
      await sleep(Math.random())
      writeFileSync(counter, `${Number(number) + 1} ${kind}`)
      if (made) unlinkSync(marker)
      await client.unlock()
      await sleep(8 * Math.random()) // the other looks now and then only
    }
    return `counted ${switches} ${overlaps}`
  },
}

// make makes a file that must not be there, and says whether it did.
function make(path) {
  try {
    closeSync(openSync(path, 'wx'))
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...args] = line.split(' ')
  console.log(await answers[command](...args))
}
redis.disconnect()
