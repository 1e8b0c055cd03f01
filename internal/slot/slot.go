// Package slot says where a key lives in a Redis Cluster.
package slot

import "strings"

// Of is the hash slot of a key in a Redis Cluster: CRC16 (XMODEM) of the
// key, or of its first {tag} that is not empty, modulo 16384.
func Of(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
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
