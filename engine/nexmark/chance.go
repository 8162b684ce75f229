package nexmark

import (
	"math"
	"math/bits"
)

// chance is the generator SplitMix64. Its start is made of the seed and the id of the event, so that an event depends on
// nothing before it.
type chance uint64

const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: the step of SplitMix64

func newChance(seed uint64, id int64) chance { return chance(mix(mix(seed) + uint64(id)*golden)) }

func (c *chance) next() uint64 {
	*c += golden
	return mix(uint64(*c))
}

// mix is the finalizer of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below gives a number from 0 to n-1. Its bias is n in 2^64.
func (c *chance) below(n int64) int64 {
	hi, _ := bits.Mul64(c.next(), uint64(n))
	return int64(hi)
}

// prices are the powers 10^(2+6x) for x in 1024 steps from 0 to 1, in 256ths of a cent. A power for each event would cost
// more than all the rest of it.
type prices [1<<priceBits + 1]int64

const (
	priceBits = 10
	priceUnit = 256
	fineBits  = 20 // of the place between two steps
)

func newPrices() *prices {
	p := new(prices)
	for i := range p {
		p[i] = int64(math.Round(math.Pow(10, 2+6*float64(i)/(1<<priceBits)) * priceUnit))
	}
	return p
}

// draw gives a price in cents, 100 to 10^8, each power of ten as likely as the others.
func (p *prices) draw(c *chance) uint32 {
	r := c.next()
	i := r >> (64 - priceBits)
	fine := int64(r >> (64 - priceBits - fineBits) & (1<<fineBits - 1))
	low, high := p[i], p[i+1]
	return uint32((low + (high-low)*fine>>fineBits + priceUnit/2) / priceUnit)
}
