import Foundation

/// The arguments of the program.
struct Options: Sendable {
  var store = StoreAddress.standard
  var host = "127.0.0.1"
  var port = 8080
  /// The time at which the clock starts; nil for the time of the computer.
  var now: Date?
  /// Whether requests may set the clock.
  var isTest = false

  var isLocal: Bool { host == "127.0.0.1" || host == "localhost" || host == "::1" }

  static let help = """
    USAGE: ToDoApp [--store <list>] [--host <address>] [--port <number>]

      --store <list>     The file of the list. It is created if it does not exist: as XML if its name ends in .xml, in
                         binary form if it ends in .bin, and as a SQLite file otherwise. Or a schema of a PostgreSQL
                         server, for a team: postgresql://user@host/database?schema=todo
      --host <address>   The address to listen on. The default is 127.0.0.1, which only this computer can reach.
      --port <number>    The port. The default is 8080; 0 is any free one.
      --now <date>       Start the clock at this time, such as 2030-06-01T18:30:00Z.
      --test             Let requests set the clock.
    """

  /// - Throws: ``Mistake`` if the arguments are not valid.
  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      if name == "--test" {
        isTest = true
        continue
      }
      guard let value = rest.popFirst() else { throw Mistake(text: "the value of \(name) is missing") }
      switch name {
      case "--store": store = try StoreAddress(value)
      case "--host": host = value
      case "--port":
        guard let number = UInt16(value) else { throw Mistake(text: "\(value) is not a port") }
        port = Int(number)
      case "--now":
        guard let date = try? Date(value, strategy: .iso8601) else {
          throw Mistake(text: "\(value) is not a date")
        }
        now = date
      default: throw Mistake(text: "there is no option \(name)")
      }
    }
  }

  struct Mistake: Error {
    var text: String
  }
}
