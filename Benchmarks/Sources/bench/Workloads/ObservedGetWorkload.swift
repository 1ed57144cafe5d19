import CDRuntime
import Foundation
import Observation

/// The cost of reading an attribute of an observable class, without and with an observer, compared with a plain class.
struct ObservedGetWorkload: Workload {
  let name = "observed-get"
  let summary = "Gets an attribute of an observable class, above that of a plain one."

  func run(_ settings: Settings) throws -> [Figure] {
    let count = settings.isSmoke ? 1000 : 2_000_000
    let plainContainer = try PersistentContainer(
      PersistentStoreCoordinator(for: TasksModel.self, at: .inMemory))
    let plainContext = plainContainer.newContext()
    let todo = Todo(title: "t", priority: 1, due: Date(), uuid: UUID(), in: plainContext)
    let container = try PersistentContainer(
      PersistentStoreCoordinator(for: WatchedModel.self, at: .inMemory))
    let context = container.newContext()
    let gauge = Gauge(level: 1, in: context)
    var sum: Int64 = 0
    let contenders = [
      Contender(name: "plain") {
        CPUTime.measure { for _ in 0..<count { sum &+= todo.priority } }
      },
      Contender(name: "not followed") {
        CPUTime.measure { for _ in 0..<count { sum &+= gauge.level } }
      },
      Contender(name: "followed") {
        CPUTime.measure {
          withObservationTracking {
            for _ in 0..<count { sum &+= gauge.level }
          } onChange: {
          }
        }
      },
    ]
    let rounds = try Rounds(contenders, count: settings.rounds ?? 11)
    guard sum > 0 else { throw BenchError("nothing was read") }
    // The milliseconds for a million reads equal the nanoseconds for one.
    return withExtendedLifetime((plainContext, context)) {
      contenders.map { contender in
        Figure(
          name, contender.name + ", a million gets",
          milliseconds: rounds.median(contender.name) / Double(count) * 1_000_000_000, rounds: rounds.count,
          goal: nil)
      }
    }
  }
}
