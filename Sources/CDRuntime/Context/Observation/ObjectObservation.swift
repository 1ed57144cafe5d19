import Observation

/// Who follows an object's properties. An object has one from the first time that one of them is read: making it takes
/// longer than making the object.
final class ObjectObservation {
  let registrar = ObservationRegistrar()
  /// The slots that have been read: nobody follows the others.
  var slots = SlotSet()
}

/// An object that a change may concern, as long as there is one.
struct FollowedObject {
  weak var object: ManagedObject?
}
