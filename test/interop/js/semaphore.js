// The Mutex of npm's redis-semaphore: its key is "mutex:" and the name.

import { Mutex } from 'redis-semaphore'

const prefix = 'mutex:'

export function open(redis, key) {
  if (!key.startsWith(prefix)) throw new Error(`a Mutex cannot have the key ${key}`)
  let held

  // Without renewal, so that a lock can end by its ttl here.
  const mutex = (options) =>
    (held = new Mutex(redis, key.slice(prefix.length), { refreshInterval: 0, retryInterval: 5, ...options }))

  return {
    async lock(ms) {
      await mutex({ lockTimeout: ms, acquireTimeout: 60000 }).acquire()
    },
    async tryLock(ms) {
      return mutex({ lockTimeout: ms, acquireAttemptsLimit: 1 }).tryAcquire()
    },
    // It does not say whether the lock was still its own.
    async unlock() {
      await held.release()
      return true
    },
  }
}
