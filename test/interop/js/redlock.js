// npm's redlock: its resource is the key.

import Redlock from 'redlock'

export function open(redis, key) {
  const waiting = new Redlock([redis], { retryCount: -1, retryDelay: 5, retryJitter: 5 })
  const once = new Redlock([redis], { retryCount: 0 })
  let held

  return {
    async lock(ms) {
      held = await waiting.lock(key, ms)
    },
    async tryLock(ms) {
      try {
        held = await once.lock(key, ms)
        return true
      } catch (error) {
        if (error instanceof Redlock.LockError) return false
        throw error
      }
    },
    async unlock() {
      try {
        await held.unlock()
        return true
      } catch (error) {
        if (error instanceof Redlock.LockError) return false
        throw error
      }
    },
  }
}
