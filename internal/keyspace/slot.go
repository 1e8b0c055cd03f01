package keyspace

import "strings"

// Slot returns the hash slot of a key or a channel in a Redis Cluster: CRC16 (XMODEM) of
// its [Tag], modulo 16384.
func Slot(key string) int {
	key = Tag(key)
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// Tag returns the part of a key that decides its slot: what its first braces enclose, or
// the whole key if that is empty or there are none.
func Tag(key string) string {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}
