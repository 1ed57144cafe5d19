/// The objects of one inheritance root in one context, by key.
///
/// A table with open addressing whose hash is the key itself: keys come in sequence, and neighbours in the
/// table are then neighbours in memory. Keys in a pattern that this hash piles up, such as multiples of a
/// power of two, are noticed by the length of a probe, and the table goes over to a hash that scatters.
///
/// The map keeps its objects alive. When it has doubled it lets go of those that nobody else holds and that
/// have no changes.
final class IdentityMap {
  private struct Entry {
    /// 0 in an empty entry.
    var key: ObjectKey
    var object: ManagedObject?
  }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity: Int
  private var mask: Int
  private(set) var count = 0
  private var isScattered = false
  /// The count at which the next sweep is due.
  private var sweepCount = 2048

  private static let longProbe = 48

  init() {
    capacity = 64
    mask = 63
    entries = Self.allocate(64)
  }

  deinit {
    entries.deinitialize(count: capacity)
    entries.deallocate()
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    entries.initialize(repeating: Entry(key: 0, object: nil), count: capacity)
    return entries
  }

  @inline(__always) private func start(_ key: ObjectKey) -> Int {
    let bits = Int(truncatingIfNeeded: key)
    if !isScattered { return bits & mask }
    let product = UInt(bitPattern: bits) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: product >> 20) & mask
  }

  @inline(__always) subscript(key: ObjectKey) -> ManagedObject? {
    var place = start(key)
    while true {
      let found = entries[place].key
      if found == key { return entries[place].object }
      if found == 0 { return nil }
      place = (place &+ 1) & mask
    }
  }

  /// Adds an object whose key the map has not.
  ///
  /// - Parameter willSweep: Called before objects are let go, to drop what only caches hold.
  func insert(_ object: ManagedObject, willSweep: () -> Void) {
    if (count &+ 1) &* 4 > capacity &* 3 {
      if count >= sweepCount {
        willSweep()
        sweep()
      }
      if (count &+ 1) &* 2 > capacity { rebuild(capacity: capacity &* 2) }
    }
    place(object)
  }

  private func place(_ object: ManagedObject) {
    var place = start(object.key)
    var probes = 0
    while entries[place].key != 0 {
      place = (place &+ 1) & mask
      probes &+= 1
    }
    entries[place] = Entry(key: object.key, object: object)
    count &+= 1
    if probes > Self.longProbe, !isScattered {
      isScattered = true
      rebuild(capacity: capacity)
    }
  }

  func remove(_ key: ObjectKey) {
    var hole = start(key)
    while entries[hole].key != key {
      if entries[hole].key == 0 { return }
      hole = (hole &+ 1) & mask
    }
    entries[hole] = Entry(key: 0, object: nil)
    count &-= 1
    // What was pushed behind the hole moves up, so that probes need no marks for what was removed.
    var next = (hole &+ 1) & mask
    while entries[next].key != 0 {
      let home = start(entries[next].key)
      if (next &- home) & mask >= (next &- hole) & mask {
        entries[hole] = entries[next]
        entries[next] = Entry(key: 0, object: nil)
        hole = next
      }
      next = (next &+ 1) & mask
    }
  }

  /// Lets go of objects that are clean and that nobody else holds.
  func sweep() {
    let old = entries
    let oldCapacity = capacity
    var survivors = 0
    for place in 0..<oldCapacity where old[place].key != 0 {
      // The check looks at the reference count alone; the object is not retained meanwhile.
      if isKnownUniquelyReferenced(&old[place].object), old[place].object?.isPending == false {
        old[place].key = 0
      } else {
        survivors += 1
      }
    }
    var needed = 64
    while survivors * 2 > needed { needed *= 2 }
    count = 0
    capacity = needed
    mask = needed - 1
    entries = Self.allocate(needed)
    for place in 0..<oldCapacity where old[place].key != 0 {
      if let object = old[place].object { self.place(object) }
    }
    sweepCount = max(2048, survivors * 2)
    // Last, for a deinit of the user's may use the context.
    old.deinitialize(count: oldCapacity)
    old.deallocate()
  }

  private func rebuild(capacity newCapacity: Int) {
    let old = entries
    let oldCapacity = capacity
    capacity = newCapacity
    mask = newCapacity - 1
    entries = Self.allocate(newCapacity)
    count = 0
    for place in 0..<oldCapacity where old[place].key != 0 {
      if let object = old[place].object { self.place(object) }
    }
    old.deinitialize(count: oldCapacity)
    old.deallocate()
  }

  func forEach(_ body: (ManagedObject) -> Void) {
    for place in 0..<capacity {
      if let object = entries[place].object { body(object) }
    }
  }

  func removeAll() {
    let old = entries
    let oldCapacity = capacity
    capacity = 64
    mask = 63
    count = 0
    isScattered = false
    entries = Self.allocate(64)
    old.deinitialize(count: oldCapacity)
    old.deallocate()
  }
}
