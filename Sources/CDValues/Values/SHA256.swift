/// SHA-256 as FIPS 180-4 defines it.
///
/// The project has its own short implementation, because a cryptography package would add a minute to every user's
/// build. It protects against mistakes, but not against timing attacks.
package enum SHA256 {
  /// The digest of a byte array.
  package static func digest(of bytes: [UInt8]) -> Digest {
    var compression = Compression()
    compression.add(bytes)
    // The padding: a one bit, then zeros up to the last eight bytes of a block, then the number of bits.
    var tail = Array(bytes.suffix(bytes.count % 64))
    tail.append(0x80)
    tail.append(contentsOf: repeatElement(0, count: (120 - tail.count) % 64))
    let bits = UInt64(bytes.count) << 3
    for shift in stride(from: 56, through: 0, by: -8) {
      tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
    }
    compression.add(tail)
    return Digest(words: compression.state)
  }

  /// Reads and writes through pointers, and counts by hand: in a debug build nothing else is compiled to plain
  /// instructions, and each opening of a store computes digests of its model.
  private struct Compression {
    var state: [UInt32] = [
      0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private var schedule = [UInt32](repeating: 0, count: 64)

    /// Adds blocks of 64 bytes; what remains behind the last whole one is not read.
    mutating func add(_ bytes: [UInt8]) {
      bytes.withUnsafeBufferPointer { bytes in
        state.withUnsafeMutableBufferPointer { state in
          schedule.withUnsafeMutableBufferPointer { schedule in
            SHA256.roundConstants.withUnsafeBufferPointer { constants in
              guard let start = bytes.baseAddress, let state = state.baseAddress,
                let schedule = schedule.baseAddress, let constants = constants.baseAddress
              else { return }
              var block = 0
              while block &+ 64 <= bytes.count {
                Self.add(start + block, state, schedule, constants)
                block &+= 64
              }
            }
          }
        }
      }
    }

    private static func add(
      _ block: UnsafePointer<UInt8>, _ state: UnsafeMutablePointer<UInt32>,
      _ schedule: UnsafeMutablePointer<UInt32>, _ constants: UnsafePointer<UInt32>
    ) {
      var place = 0
      while place < 16 {
        let byte = block + (place &* 4)
        schedule[place] =
          UInt32(byte[0]) &<< 24 | UInt32(byte[1]) &<< 16 | UInt32(byte[2]) &<< 8 | UInt32(byte[3])
        place &+= 1
      }
      while place < 64 {
        let early = schedule[place &- 15]
        let late = schedule[place &- 2]
        let sigma0 = rotate(early, 7) ^ rotate(early, 18) ^ (early &>> 3)
        let sigma1 = rotate(late, 17) ^ rotate(late, 19) ^ (late &>> 10)
        schedule[place] = schedule[place &- 16] &+ sigma0 &+ schedule[place &- 7] &+ sigma1
        place &+= 1
      }
      var (a, b, c, d) = (state[0], state[1], state[2], state[3])
      var (e, f, g, h) = (state[4], state[5], state[6], state[7])
      var round = 0
      while round < 64 {
        let sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
        let choice = (e & f) ^ (~e & g)
        let first = h &+ sum1 &+ choice &+ constants[round] &+ schedule[round]
        let sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
        let majority = (a & b) ^ (a & c) ^ (b & c)
        (h, g, f, e) = (g, f, e, d &+ first)
        (d, c, b, a) = (c, b, a, first &+ sum0 &+ majority)
        round &+= 1
      }
      state[0] &+= a
      state[1] &+= b
      state[2] &+= c
      state[3] &+= d
      state[4] &+= e
      state[5] &+= f
      state[6] &+= g
      state[7] &+= h
    }

    @_transparent private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
      word &>> count | word &<< (32 &- count)
    }
  }

  /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  private static let roundConstants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
