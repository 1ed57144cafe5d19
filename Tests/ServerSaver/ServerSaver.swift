import CDModel
import CDPostgresStore
import CDRuntime
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that saves on a server as often as it can, and prints the result of each save. `.ci/failover` runs several of
/// these programs while the server fails. Then it compares the printed results with the contents of the store.
///
///     save-on-server URL NAME THREADS
///
/// Each save inserts an entry, and increases the counter of its thread. Then the program prints a line:
///
///     RESULT TITLE BEGIN END [REASON]
///
/// RESULT is `saved`, `failed` (nothing was written), or `unknown`. BEGIN and END are seconds since 1970. The program ends with
/// its standard input, after the saves that have begun.
@main
struct ServerSaver {
  private static let model = ManagedObjectModel(
    name: "Saves", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A13") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Entry", attributes: [AttributeDescription(name: "title", type: .string)]),
          EntityDescription(
            name: "Counter",
            attributes: [
              AttributeDescription(name: "name", type: .string),
              AttributeDescription(name: "count", type: .int64),
            ]),
        ])
    ], currentVersionNumber: 1)

  struct UsageError: Error, CustomStringConvertible {
    let description: String
  }

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let threads = Int(arguments[3]) else {
      throw UsageError(description: "usage: save-on-server URL NAME THREADS")
    }
    let server = try PostgresServer(url: arguments[1])
    let container = PersistentContainer(try PersistentStoreCoordinator(model: model, at: .server(server)))
    let names = (0..<threads).map { "\(arguments[2])-\($0)" }
    // Nothing fails yet.
    let setUp = container.newContext()
    let counters = try setUp.perform {
      let counters = try names.map { name in
        let counter = try setUp.insert(entityNamed: "Counter")
        try counter.setValue(name, forKey: "name")
        try counter.setValue(0, forKey: "count")
        return counter
      }
      try setUp.save()
      return counters.map(\.objectID)
    }
    let isDone = Atomic<Bool>(false)
    let group = DispatchGroup()
    for (name, counter) in zip(names, counters) {
      group.enter()
      let thread = Thread {
        var number = 0
        while !isDone.load(ordering: .acquiring) {
          number += 1
          report(save("\(name)-\(number)", counter, container))
          // The programs leave some time to the servers on the same machine.
          usleep(UInt32.random(in: 0..<40_000))
        }
        group.leave()
      }
      thread.stackSize = 1 << 21
      thread.start()
    }
    while readLine() != nil {}
    isDone.store(true, ordering: .releasing)
    group.wait()
  }

  /// Saves once.
  ///
  /// - Returns: The line about the save.
  private static func save(
    _ title: String, _ counter: ManagedObjectID, _ container: PersistentContainer
  ) -> String {
    let context = container.newContext()
    let begin = Date().timeIntervalSince1970
    var result = "saved"
    var reason = ""
    do {
      try context.perform {
        let counter = try context.existingObject(with: counter)
        guard case .attribute(.int(let count)) = try counter.value(forKey: "count") else {
          throw UsageError(description: "the counter has no number")
        }
        try counter.setValue(count + 1, forKey: "count")
        try context.insert(entityNamed: "Entry").setValue(title, forKey: "title")
        try context.save()
      }
    } catch StoreError.engine(_, let error) where error.code == "08007" {
      (result, reason) = ("unknown", "08007")
    } catch StoreError.engine(_, let error) {
      (result, reason) = ("failed", "\(error.code) \(error.operation): \(error.message)")
      // Reading tells at once that no server is there.
      usleep(50_000)
    } catch {
      (result, reason) = ("failed", "\(error)")
      usleep(50_000)
    }
    return "\(result) \(title) \(begin) \(Date().timeIntervalSince1970) \(reason)"
  }

  private static let output = Mutex<Void>(())

  private static func report(_ line: String) {
    let line = line.replacingOccurrences(of: "\n", with: " ") + "\n"
    output.withLock { _ in FileHandle.standardOutput.write(Data(line.utf8)) }
  }
}
