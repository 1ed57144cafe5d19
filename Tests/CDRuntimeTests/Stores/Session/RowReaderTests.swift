import Foundation
import Testing

@testable import CDRuntime

@Suite(.onceForAllKinds) struct RowReaderTests {
  /// The reader copies the bytes of a column into a UUID as they are.
  @Test func aUUIDIsItsBytesInOrder() {
    #expect(MemoryLayout<UUID>.size == 16 && MemoryLayout<UUID>.stride == 16)
    let uuid = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 248, 249, 250, 251, 252, 253, 254, 255))
    let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 248, 249, 250, 251, 252, 253, 254, 255]
    #expect(bytes.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) } == uuid)
    #expect(withUnsafeBytes(of: uuid) { Array($0) } == bytes)
  }
}
