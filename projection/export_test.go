package projection

// Essence is the saved fold without position and counters: what a duplicate must not change. Without numbers, the next id
// and the highest epoch are left out too, which a refused event may raise.
func (s *State) Essence(numbers bool) []byte {
	c := s.Clone()
	c.position.Ms, c.position.Seq = 0, 0
	c.stats = newStatistics()
	if !numbers {
		c.nextID, c.maxEpoch = 0, 0
	}
	b, _ := c.MarshalBinary()
	return b
}
