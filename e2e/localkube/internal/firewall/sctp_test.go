package firewall

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"testing"
	"time"
)

// sendSCTP sends the first packet of an association, and reports whether it arrived.
func (w world) sendSCTP(t *testing.T, from, to string, port uint16) bool {
	t.Helper()
	const sctp = "ip4:132"
	address := &net.IPAddr{IP: net.ParseIP(machines[to])}
	var receiver, sender *net.IPConn
	w[to].must(func() (err error) {
		receiver, err = net.ListenIP(sctp, address)
		return err
	})
	defer receiver.Close()
	w[from].must(func() (err error) {
		sender, err = net.DialIP(sctp, nil, address)
		return err
	})
	defer sender.Close()
	if _, err := sender.Write(initPacket(port)); err != nil {
		t.Fatal(err)
	}
	if err := receiver.SetReadDeadline(time.Now().Add(silencePeriod)); err != nil {
		t.Fatal(err)
	}
	_, err := receiver.Read(make([]byte, 64))
	return err == nil
}

// initPacket is a packet with an INIT chunk, as RFC 9260 has it.
func initPacket(port uint16) []byte {
	packet := make([]byte, 12+20)
	binary.BigEndian.PutUint16(packet[0:], 40000)
	binary.BigEndian.PutUint16(packet[2:], port)
	packet[12] = 1                                // INIT
	binary.BigEndian.PutUint16(packet[14:], 20)   // length of the chunk
	binary.BigEndian.PutUint32(packet[16:], 1)    // initiate tag
	binary.BigEndian.PutUint32(packet[20:], 1500) // receiver window
	binary.BigEndian.PutUint16(packet[24:], 1)    // streams out
	binary.BigEndian.PutUint16(packet[26:], 1)    // streams in
	sum := crc32.Checksum(packet, crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(packet[8:], sum)
	return packet
}
