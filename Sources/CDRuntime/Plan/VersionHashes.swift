import CDModel
import Synchronization

/// The hashes of a model version, computed at their first use. Most stores carry exactly the version of the model, and
/// opening them needs no hashes.
final class VersionHashes: Sendable {
  private let graph: EntityGraph
  private let made = Mutex<ModelHashes?>(nil)

  init(_ graph: EntityGraph) { self.graph = graph }

  var value: ModelHashes {
    made.withLock { made in
      if let made { return made }
      let hashes = ModelHashes(graph)
      made = hashes
      return hashes
    }
  }
}
