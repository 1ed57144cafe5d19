import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A server that accepts connections, and answers the first message with the same bytes each time, or not at all.
final class FakeServer: Sendable {
  let port: Int
  private let listener: Int32

  /// - Parameter answer: The bytes; nil for silence.
  init(_ answer: [UInt8]?) throws {
    (listener, port) = try listeningSocket()
    acceptConnections(on: listener) { client in
      Thread.detachNewThread {
        var buffer = [UInt8](repeating: 0, count: 4096)
        guard read(client, &buffer, buffer.count) > 0 else {
          close(client)
          return
        }
        // A silent server keeps the connection.
        guard let answer else { return }
        _ = write(client, answer, answer.count)
        close(client)
      }
    }
  }

  deinit { stopListening(listener) }

  /// The message of an error that ends a connection.
  static func fatal(_ code: String, _ message: String) -> [UInt8] {
    let fields = ["SFATAL", "VFATAL", "C" + code, "M" + message]
    let body: [UInt8] = fields.flatMap { field -> [UInt8] in Array(field.utf8) + [0] } + [0]
    let length = UInt32(body.count + 4)
    return [UInt8(ascii: "E")] + withUnsafeBytes(of: length.bigEndian) { Array($0) } + body
  }
}
